// Numbers and sizes for people.

/** A number in at most `digits` significant digits, without trailing zeros. */
export function short(value: number, digits = 5): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return Object.is(value, -0) ? '−0' : '0';
  const size = Math.abs(value);
  const text =
    size >= 1e-4 && size < 10 ** Math.max(digits, 6)
      ? String(Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))))
      : value.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return text.replace('-', '−');
}

/**
 * The first `digits` digits of a number, with an ellipsis where more follow: nothing is rounded.
 * The digits before the point are kept up to a million.
 */
export function cut(value: number, digits: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || value === 0) return short(value);
  const plain = size >= 1e-4 && size < 1e6;
  const [mantissa = '', power = ''] = (plain ? String(size) : size.toExponential()).split('e');
  const [whole = '', part = ''] = mantissa.split('.');
  const zeros = whole === '0' ? /^0*/.exec(part)![0].length : 0;
  const kept = part.slice(0, Math.max(0, zeros + digits - (whole === '0' ? 0 : whole.length)));
  const text = `${whole}${kept ? `.${kept}` : ''}${kept.length < part.length ? '…' : ''}`;
  return `${value < 0 ? '−' : ''}${text}${power ? `e${power.replace('+', '').replace('-', '−')}` : ''}`;
}

/** Every digit that survives a round trip. */
export function full(value: number | bigint): string {
  if (typeof value === 'bigint') return String(value).replace('-', '−');
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  return (Object.is(value, -0) ? '−0' : String(value)).replace('-', '−');
}

const SCALES: [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** A count with a decimal prefix: 12.3 k. */
export function count(value: number): string {
  const scale = SCALES.find(([size]) => value >= size);
  return scale ? `${short(value / scale[0], 3)} ${scale[1]}` : short(value, 4);
}

/** Bytes with a binary prefix. */
export function bytes(value: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  let size = value;
  while (size >= 1024 && at < names.length - 1) {
    size /= 1024;
    at++;
  }
  return `${short(size, 3)} ${names[at]}`;
}

/** Milliseconds, from microseconds to seconds. */
export function duration(ms: number): string {
  if (ms >= 1000) return `${short(ms / 1000, 3)} s`;
  if (ms >= 1) return `${short(ms, 3)} ms`;
  return `${short(ms * 1000, 3)} µs`;
}
