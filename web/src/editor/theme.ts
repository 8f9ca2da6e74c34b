// The editor's looks: colours are the page's custom properties, which reach into its shadow root.

import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const look = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--ink)', fontSize: 'var(--code-size)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.62', padding: '10px 0' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0' },
  '.cm-line': { padding: '0 14px 0 8px' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'var(--faint)' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '30px', padding: '0 6px 0 8px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-line.cm-linked': { backgroundColor: 'var(--linked)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    { background: 'var(--selection)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--selection)', outline: 'none',
  },
  '.cm-ghost': {
    color: 'var(--ghost)', fontSize: '0.86em', marginLeft: '1.1em', fontStyle: 'italic',
    userSelect: 'none', whiteSpace: 'nowrap', textIndent: '0',
  },
  '.cm-lintRange-error': {
    backgroundImage: 'none', textDecoration: 'underline wavy var(--error) 1.5px',
    textUnderlineOffset: '3px', textDecorationSkipInk: 'none',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)', border: '1px solid var(--rule)', borderRadius: '8px',
    boxShadow: 'var(--shadow)', color: 'var(--ink)', overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12.5px', maxHeight: '15em' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px !important' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--selection) !important', color: 'var(--ink) !important',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--primal)', fontWeight: '600' },
  '.cm-completionInfo': { maxWidth: '340px', padding: '8px 12px !important' },
  '.cm-tooltip.cm-tooltip-lint': { padding: '2px 0' },
  '.cm-diagnostic': { borderLeft: 'none', padding: '6px 12px', fontFamily: 'var(--sans)', fontSize: '13px' },
  '.cm-note': { padding: '8px 12px', maxWidth: '380px', fontFamily: 'var(--sans)', fontSize: '13px' },
  '.cm-note code': { fontFamily: 'var(--mono)', fontSize: '12.5px', display: 'block', marginBottom: '3px' },
  '.cm-weight': { width: '5px', padding: '3px 0' },
  '.cm-weight i': { display: 'block', width: '3px', borderRadius: '2px', marginBottom: '1px' },
  '.cm-weight .primal': { backgroundColor: 'var(--primal)' },
  '.cm-weight .tangent': { backgroundColor: 'var(--tangent)' },
  '.cm-weight .cotangent': { backgroundColor: 'var(--cotangent)' },
});

const ink = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.definitionKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.function(tags.definition(tags.variableName))], color: 'var(--ink)', fontWeight: '650' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.comment], color: 'var(--faint)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--code-call)' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--muted)' },
]);

export const theme = [look, syntaxHighlighting(ink)];
