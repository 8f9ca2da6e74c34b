import { describe, expect, it } from 'vitest';
import { parseTable } from './csv';

const rowsOf = (text: string) => {
  const { rows, columns, data } = parseTable(text);
  return Array.from({ length: rows }, (_, i) => [...data.subarray(i * columns, (i + 1) * columns)]);
};

describe('parseTable', () => {
  it('reads commas, semicolons, tabs and blanks, and skips a heading', () => {
    for (const text of ['1,2\n3,4\n', 'a,b\n1,2\r\n3,4', '1;2\n3;4', '1\t2\n3\t4', ' 1 2\n\n3 4 ', '"1","2"\n3,4', '\uFEFF1,2\n3,4']) {
      expect(rowsOf(text)).toEqual([[1, 2], [3, 4]]);
    }
  });

  it('reads what is not finite, in the first line too', () => {
    expect(rowsOf('nan,inf\n-inf,NaN')).toEqual([[NaN, Infinity], [-Infinity, NaN]]);
  });

  it('takes no line with a number in it for a heading', () => {
    expect(() => parseTable('1,x\n2,3')).toThrow('Line 1, field 2: “x” is not a number');
    expect(() => parseTable('1,,3\n4,5,6')).toThrow('Line 1, field 2: A number is missing');
  });

  it('takes for headings only words, and says so', () => {
    for (const text of ['a,b\n1,2', '"time, s";_x\n1;2', ',b\n1,2', '# made by hand\nné b\n1 2']) {
      expect(rowsOf(text)).toEqual([[1, 2]]);
      expect(parseTable(text).headings, text).toBe(text.startsWith('#') ? 2 : 1);
    }
    expect(parseTable('1,2').headings).toBeNull();
    for (const first of ['1,5;2,5', 'NA,NA', 'N/A,x', 'null,None', '1e400,1e400', '0x10,0x11', '50%;60%', '$1;$2', '1/2;1/3', '1 000;2 000', '−,+', '#N/A,#N/A', 'true,false', '"1/2","3"', ',']) {
      expect(() => parseTable(`${first}\n1,2`), first).toThrow('Line 1, field ');
    }
  });

  it('skips comments, and judges by what follows them', () => {
    expect(rowsOf('# c\n1,2\n# d\n3,4')).toEqual([[1, 2], [3, 4]]);
    expect(() => parseTable('# c\n1,x')).toThrow('Line 2, field 2');
  });

  it('says where it fails', () => {
    expect(() => parseTable('1,2\n3,x')).toThrow('Line 2, field 2');
    expect(() => parseTable('1,2\n3')).toThrow('Line 2 has 1 field, the first has 2');
    expect(() => parseTable('1;2\n3;4,5')).toThrow('write 4.5');
    for (const text of ['', 'a,b']) expect(() => parseTable(text)).toThrow('no numbers');
  });

  it('reads a million numbers', () => {
    const text = Array.from({ length: 1000 }, (_, i) => Array.from({ length: 1000 }, (_, j) => i - j / 8).join(',')).join('\n');
    const { rows, columns, data } = parseTable(text);
    expect([rows, columns, data[999 * 1000 + 8]]).toEqual([1000, 1000, 998]);
  });
});
