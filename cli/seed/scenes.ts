import sharp from "sharp";

/** A picture drawn by code: free of any licence, the same for the same number. */
export interface Scene {
  readonly prompt: string;
  readonly widthPx: number;
  readonly heightPx: number;
  /** PNG. */
  readonly draw: () => Promise<Buffer>;
}

interface Light {
  readonly words: string;
  /** Top and bottom of the sky, the sun, and the nearest ground. */
  readonly colours: readonly [top: string, bottom: string, sun: string, ground: string];
  /** Height of the sun: 0 at the top of the picture, 1 at its bottom. */
  readonly sunY: number;
}

const lights: readonly Light[] = [
  { words: "at dawn, pale mist", colours: ["#7c9cc4", "#f6d8c0", "#fff3dc", "#30475e"], sunY: 0.52 },
  { words: "in the evening sun", colours: ["#3b3561", "#f08a5d", "#ffe2a8", "#2b2440"], sunY: 0.58 },
  { words: "at noon, clear air", colours: ["#3f8fd0", "#cfe8f5", "#ffffff", "#2f5d46"], sunY: 0.18 },
  { words: "under the moon", colours: ["#0c1830", "#37507d", "#f2f0dc", "#0a1322"], sunY: 0.24 },
  { words: "before a storm", colours: ["#4a5560", "#a9b0a4", "#dfe3d6", "#2a302e"], sunY: 0.34 },
];

/** How far a ridge goes up and down, and how often, by what it is called. */
const lands = [
  { words: "Wide hills", swing: 0.08, waves: 2, steps: 60 },
  { words: "A mountain range", swing: 0.2, waves: 5, steps: 14 },
  { words: "Dunes in the desert", swing: 0.05, waves: 1.4, steps: 60 },
  { words: "Cliffs by the sea", swing: 0.14, waves: 1.1, steps: 9 },
] as const;

const sizes = [
  [640, 640],
  [768, 512],
  [512, 768],
  [896, 512],
] as const;

const ridges = 4;

/** The outline of one ridge as a path of SVG; nearer ones stand lower. */
function ridge(
  { swing, waves, steps }: (typeof lands)[number],
  { width, height }: { readonly width: number; readonly height: number },
  { depth, phase }: { readonly depth: number; readonly phase: number },
): string {
  const base = 0.55 + 0.13 * depth;
  const points = Array.from({ length: steps + 1 }, (_, at) => {
    const t = at / steps;
    const wave =
      Math.sin((t * waves + phase) * 2 * Math.PI) +
      0.5 * Math.sin((t * waves * 2.7 + phase * 3) * 2 * Math.PI);
    return `${(t * width).toFixed(1)},${(height * (base + (swing * wave) / (1 + depth))).toFixed(1)}`;
  });
  return `M0,${height} L${points.join(" L")} L${width},${height} Z`;
}

function pictureOf(number: number, light: Light, land: (typeof lands)[number]): Buffer {
  const [width, height] = sizes[number % sizes.length] ?? sizes[0];
  const [top, bottom, sun, ground] = light.colours;
  const sunX = 0.2 + ((number * 37) % 60) / 100;
  const layers = Array.from({ length: ridges }, (_, depth) => {
    const path = ridge(land, { width, height }, { depth, phase: ((number * 17 + depth * 29) % 100) / 100 });
    return `<path d="${path}" fill="${ground}" fill-opacity="${0.25 + 0.25 * depth}"/>`;
  });
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <defs>
      <linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${top}"/><stop offset="0.75" stop-color="${bottom}"/></linearGradient>
      <radialGradient id="sun"><stop offset="0" stop-color="${sun}"/><stop offset="0.22" stop-color="${sun}"/><stop offset="0.3" stop-color="${sun}" stop-opacity="0.35"/><stop offset="1" stop-color="${sun}" stop-opacity="0"/></radialGradient>
    </defs>
    <rect width="${width}" height="${height}" fill="url(#sky)"/>
    <circle cx="${sunX * width}" cy="${light.sunY * height}" r="${0.28 * width}" fill="url(#sun)"/>
    ${layers.join("")}
  </svg>`);
}

/** The scene of a number, from 0; numbers that follow each other differ in land, light and form. */
export function sceneOf(number: number): Scene {
  const light = lights[number % lights.length] ?? lights[0];
  const land = lands[(number * 3 + 1) % lands.length] ?? lands[0];
  if (!light) throw new Error("there is no light");
  const [widthPx, heightPx] = sizes[number % sizes.length] ?? sizes[0];
  return {
    prompt: `${land.words} ${light.words}`,
    widthPx,
    heightPx,
    draw: () =>
      sharp(pictureOf(number, light, land))
        .png()
        .toBuffer(),
  };
}
