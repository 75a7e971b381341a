/** How the samples of a picture are meant where no ICC profile says it. */
export interface ColourTag {
  /** x and y of white, red, green and blue. */
  readonly points: readonly number[];
  readonly transfer: Transfer;
}

type Transfer = "srgb" | "pq" | "hlg" | { readonly gamma: number };

const whiteD65 = [0.3127, 0.329] as const;
const srgbPoints = [...whiteD65, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06] as const;
const p3 = [0.68, 0.32, 0.265, 0.69, 0.15, 0.06] as const;

/** By the codes of ITU-T H.273; the others are read as sRGB. */
const pointsByCode = new Map<number, readonly number[]>([
  [4, [0.31, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08]],
  [5, [...whiteD65, 0.64, 0.33, 0.29, 0.6, 0.15, 0.06]],
  [6, [...whiteD65, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07]],
  [7, [...whiteD65, 0.63, 0.34, 0.31, 0.595, 0.155, 0.07]],
  [9, [...whiteD65, 0.708, 0.292, 0.17, 0.797, 0.131, 0.046]],
  [11, [0.314, 0.351, ...p3]],
  [12, [...whiteD65, ...p3]],
]);

/** Codes of films (1, 6, 14, 15) are shown like sRGB, as browsers do. */
const transferByCode = new Map<number, Transfer>([
  [4, { gamma: 2.2 }],
  [5, { gamma: 2.8 }],
  [8, { gamma: 1 }],
  [16, "pq"],
  [18, "hlg"],
]);

/** Null for codes that mean sRGB. */
export function tagOfCodes(primaries: number, transfer: number): ColourTag | null {
  return tagUnlessSrgb(pointsByCode.get(primaries) ?? srgbPoints, transferByCode.get(transfer) ?? "srgb");
}

/** The gamma of files made for sRGB. */
const srgbFileGamma = 1 / 2.2;

/** `gamma` as a PNG states it (0.45455 is that of sRGB), `points` with white first. Senseless values are ignored. */
export function tagOfGamma(gamma: number | null, points: readonly number[] | null): ColourTag | null {
  const isOther = gamma !== null && gamma > 0.1 && gamma < 5 && Math.abs(gamma - srgbFileGamma) > 0.02;
  const transfer: Transfer = isOther ? { gamma: 1 / gamma } : "srgb";
  const areUsable = points?.every((value, at) => value >= 0 && value <= 1 && (at % 2 === 0 || value > 0.01));
  return tagUnlessSrgb(points && areUsable ? points : srgbPoints, transfer);
}

function tagUnlessSrgb(points: readonly number[], transfer: Transfer): ColourTag | null {
  const isSrgb = points.every((value, at) => Math.abs(value - (srgbPoints[at] ?? 0)) < 0.002);
  return isSrgb && transfer === "srgb" ? null : { points, transfer };
}

interface Samples {
  /** 8 or 16 bits per sample, full range. */
  readonly data: Uint8Array | Uint16Array;
  readonly channels: number;
}

/** Converts samples to sRGB of 8 bits. Light above white (PQ, HLG) is compressed, colours outside of sRGB are clipped. */
export function toSrgb({ data, channels }: Samples, tag: ColourTag): Buffer {
  const most = data instanceof Uint16Array ? 65_535 : 255;
  const toLight = lightTable(tag.transfer, most);
  const show = shownLight(tag);
  const [isGrey, hasAlpha] = [channels < 3, channels % 2 === 0];
  const made = Buffer.alloc(data.length);
  const rgb = new Float32Array(3);
  const lightAt = (at: number) => toLight[data[at] ?? 0] ?? 0;
  for (let at = 0; at < data.length; at += channels) {
    for (let each = 0; each < 3; each += 1) rgb[each] = lightAt(isGrey ? at : at + each);
    show(rgb);
    for (let each = 0; each < (isGrey ? 1 : 3); each += 1) made[at + each] = encodeSrgb(rgb[each] ?? 0);
    const alphaAt = at + channels - 1;
    if (hasAlpha) made[alphaAt] = Math.round(((data[alphaAt] ?? 0) * 255) / most);
  }
  return made;
}

/** From the light of the samples to that of a screen with sRGB, in place. */
function shownLight({ points, transfer }: ColourTag): (rgb: Float32Array) => void {
  const matrix = matrixOf(points);
  if (transfer !== "pq" && transfer !== "hlg") return (rgb) => multiply(matrix, rgb);
  return (rgb) => {
    if (transfer === "hlg") showScene(rgb);
    multiply(matrix, rgb);
    compress(rgb);
  };
}

/** Of a white page in HDR pictures (ITU-R BT.2408). */
const whiteNits = 203;
const hlgPeakNits = 1_000;

/** Linear light by sample; 1 is white. */
function lightTable(transfer: Transfer, depth: number): Float32Array {
  return Float32Array.from({ length: depth + 1 }, (_none, sample) => lightOf(transfer, sample / depth));
}

function lightOf(transfer: Transfer, value: number): number {
  if (transfer === "srgb") return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  if (transfer === "hlg")
    return value <= 0.5 ? value ** 2 / 3 : (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
  if (transfer !== "pq") return value ** transfer.gamma;
  const root = value ** (32 / 2_523);
  const nits = 10_000 * (Math.max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)) ** (8_192 / 1_305);
  return nits / whiteNits;
}

/** HLG holds the light of the scene; a screen shows it with more contrast. */
function showScene(rgb: Float32Array): void {
  const [red = 0, green = 0, blue = 0] = rgb;
  const luminance = 0.2627 * red + 0.678 * green + 0.0593 * blue;
  const factor = (hlgPeakNits / whiteNits) * Math.max(luminance, 1e-6) ** 0.2;
  for (let each = 0; each < 3; each += 1) rgb[each] = (rgb[each] ?? 0) * factor;
}

/** Where compression begins; below it nothing changes. */
const kneeLight = 0.6;

function compress(rgb: Float32Array): void {
  const most = Math.max(rgb[0] ?? 0, rgb[1] ?? 0, rgb[2] ?? 0);
  if (most <= kneeLight) return;
  const room = 1 - kneeLight;
  const factor = (kneeLight + room * (1 - Math.exp((kneeLight - most) / room))) / most;
  for (let each = 0; each < 3; each += 1) rgb[each] = (rgb[each] ?? 0) * factor;
}

const encodeSteps = 16_384;
const encoded = Uint8Array.from({ length: encodeSteps + 1 }, (_none, at) => {
  const light = at / encodeSteps;
  return Math.round(255 * (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055));
});

function encodeSrgb(light: number): number {
  return encoded[Math.round(Math.min(1, Math.max(0, light)) * encodeSteps)] ?? 0;
}

type Matrix = readonly number[];

function multiply(matrix: Matrix, rgb: Float32Array): void {
  const [a = 0, b = 0, c = 0] = rgb;
  for (let row = 0; row < 3; row += 1)
    rgb[row] = (matrix[3 * row] ?? 0) * a + (matrix[3 * row + 1] ?? 0) * b + (matrix[3 * row + 2] ?? 0) * c;
}

/** From linear light of these primaries to that of sRGB; white stays white. */
function matrixOf(points: readonly number[]): Matrix {
  return product(inverse(toXyz(srgbPoints)), product(adapt(points), toXyz(points)));
}

const xyzOf = (x: number, y: number) => [x / y, 1, (1 - x - y) / y] as const;

function toXyz(points: readonly number[]): Matrix {
  const [wx = 0, wy = 1, rx = 0, ry = 1, gx = 0, gy = 1, bx = 0, by = 1] = points;
  const [red, green, blue, white] = [xyzOf(rx, ry), xyzOf(gx, gy), xyzOf(bx, by), xyzOf(wx, wy)];
  const columns = [0, 1, 2].flatMap((row) => [red[row] ?? 0, green[row] ?? 0, blue[row] ?? 0]);
  const scale = apply(inverse(columns), white);
  return columns.map((value, at) => value * (scale[at % 3] ?? 0));
}

/** Scales XYZ from one white to that of sRGB. */
function adapt(points: readonly number[]): Matrix {
  const [from, to] = [xyzOf(points[0] ?? 0, points[1] ?? 1), xyzOf(...whiteD65)];
  const [x, y, z] = [0, 1, 2].map((at) => (to[at] ?? 1) / (from[at] ?? 1));
  return [x ?? 1, 0, 0, 0, y ?? 1, 0, 0, 0, z ?? 1];
}

function apply(matrix: Matrix, [a, b, c]: readonly [number, number, number]): number[] {
  return [0, 3, 6].map((at) => (matrix[at] ?? 0) * a + (matrix[at + 1] ?? 0) * b + (matrix[at + 2] ?? 0) * c);
}

function product(first: Matrix, second: Matrix): Matrix {
  const columns = [0, 1, 2].map((at) =>
    apply(first, [second[at] ?? 0, second[at + 3] ?? 0, second[at + 6] ?? 0]),
  );
  return [0, 1, 2].flatMap((row) => columns.map((column) => column[row] ?? 0));
}

function inverse(matrix: Matrix): Matrix {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] = matrix;
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  const cofactors = [
    e * i - f * h,
    c * h - b * i,
    b * f - c * e,
    f * g - d * i,
    a * i - c * g,
    c * d - a * f,
  ];
  return [...cofactors, d * h - e * g, b * g - a * h, a * e - b * d].map((value) => value / determinant);
}
