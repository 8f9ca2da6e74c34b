"""What a program does, told to people: its text with lines and roles, and where it went wrong."""
