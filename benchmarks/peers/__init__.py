"""What users write or have instead of gradserve, kept small and honest, to measure against."""
