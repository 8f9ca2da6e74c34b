import { describe, expect, it } from 'vitest';
import { parseTable } from './csv';

describe('parseTable', () => {
  it('reads commas, semicolons, tabs and blanks, and skips a header', () => {
    for (const text of ['1,2\n3,4\n', 'a,b\n1,2\r\n3,4', '1;2\n3;4', '1\t2\n3\t4', ' 1 2\n\n3 4 ']) {
      expect(parseTable(text)).toEqual([[1, 2], [3, 4]]);
    }
  });

  it('says where it fails', () => {
    expect(() => parseTable('1,2\n3,x')).toThrow('Line 2, field 2');
    expect(() => parseTable('1,2\n3')).toThrow('Row 2');
    expect(() => parseTable('')).toThrow('no numbers');
  });
});
