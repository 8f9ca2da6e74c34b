import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// Two pages, one build: the playground at `/` and the API page at `/docs`. The built files go
// where the server looks for them; nothing is inlined, so that the strict
// Content-Security-Policy of the server holds without exceptions.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: '../app/web_dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    rollupOptions: { input: { index: 'index.html', docs: 'docs.html' } },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8000', '/openapi.json': 'http://127.0.0.1:8000' } },
});
