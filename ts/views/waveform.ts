const WIDTH = 1200;
const HEIGHT = 200;

/** A stretch of time, in seconds. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** A picture of sound as SVG: its loudest and softest samples for each column, and stretches marked behind it. */
export function waveformSvg(
  samples: Float32Array | Int16Array,
  sampleRate: number,
  stretches: readonly Stretch[],
): string {
  const full = samples instanceof Int16Array ? 32_768 : 1;
  const seconds = Math.max(samples.length / sampleRate, 1e-9);
  const x = (second: number) => ((second / seconds) * WIDTH).toFixed(1);
  const marks = stretches.map(
    ({ start, end }) =>
      `<rect x="${x(start)}" y="0" width="${x(end - start)}" height="${HEIGHT}" fill="#9ecbff"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT + 24}" font-family="sans-serif" font-size="14">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#f6f8fa"/>`,
    ...marks,
    `<path d="${outline(samples, full)}" stroke="#24292f" fill="none"/>`,
    `<text x="0" y="${HEIGHT + 18}">0 s</text>`,
    `<text x="${WIDTH}" y="${HEIGHT + 18}" text-anchor="end">${seconds.toFixed(1)} s</text>`,
    "</svg>",
    "",
  ].join("\n");
}

function outline(samples: Float32Array | Int16Array, full: number): string {
  const columns = Math.min(WIDTH, samples.length);
  const y = (value: number) => ((1 - Math.max(-1, Math.min(1, value / full))) * (HEIGHT / 2)).toFixed(1);
  const lines: string[] = [];
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * samples.length) / columns);
    const to = Math.floor(((column + 1) * samples.length) / columns);
    let [low, high] = [Infinity, -Infinity];
    for (let at = from; at < to; at += 1) {
      const value = samples[at] ?? 0;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    lines.push(`M${((column * WIDTH) / columns).toFixed(1)} ${y(low)}V${y(high)}`);
  }
  return lines.join("");
}
