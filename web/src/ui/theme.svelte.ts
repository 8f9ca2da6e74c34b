// Light or dark: the system's choice until the user makes one, which is kept in this browser.

const KEY = 'gradserve-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

class Theme {
  #chosen = $state(document.documentElement.dataset.theme as 'light' | 'dark' | undefined);
  #dark = $state(system.matches);
  readonly current = $derived(this.#chosen ?? (this.#dark ? 'dark' : 'light'));

  constructor() {
    system.addEventListener('change', (event) => (this.#dark = event.matches));
  }

  toggle(): void {
    const next = this.current === 'dark' ? 'light' : 'dark';
    this.#chosen = next;
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage may be blocked: the choice lasts as long as the page.
    }
  }
}

export const theme = new Theme();

/** The value of a custom property, for canvases. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
