// Runs before the first paint, so that a chosen theme never flashes.
try {
  var chosen = localStorage.getItem('gradserve-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch (error) {
  // Storage may be blocked: the system's preference stands.
}
