import { mount } from 'svelte';
import '../app.css';
import Docs from './Docs.svelte';

const target = document.getElementById('app');
if (target) mount(Docs, { target });
