/** Bounds of what is read from a file that anybody may have made. */
export const carriedLimits = {
  fileBytes: 100 * 1_024 ** 2,
  /** Chunks, segments or entries. */
  parts: 20_000,
  texts: 64,
  /** Of one text, after it was inflated. */
  textBytes: 2 * 1_024 ** 2,
  allBytes: 8 * 1_024 ** 2,
} as const;

/** A text that stands beside the pixels of a file, by the name that the format gives it. */
export interface CarriedText {
  readonly name: string;
  readonly text: string;
}

export const xmp = "XML:com.adobe.xmp";

/** Whether a text is an XMP packet, which has this name in every format. */
export const isXmp = ({ name }: CarriedText): boolean => name === xmp;

/** The texts found so far, within the limits. */
export class Found {
  readonly texts: CarriedText[] = [];
  #bytes = 0;
  #inVain = 0;
  #hasExif = false;

  /** Of what is still taken, bytes; 0 when there is enough. */
  get roomBytes(): number {
    if (this.texts.length + this.#inVain >= carriedLimits.texts) return 0;
    return Math.min(carriedLimits.textBytes, carriedLimits.allBytes - this.#bytes);
  }

  /** Whether camera data may be read: a file has one block of them. */
  startExif(): boolean {
    const isFirst = !this.#hasExif;
    this.#hasExif = true;
    return isFirst;
  }

  /** Counts what was inflated in vain, so that a file of nothing but bombs, or of thousands of broken texts, ends soon. */
  spend(bytes: number): void {
    this.#inVain += 1;
    this.#bytes += bytes;
  }

  add(name: string, bytes: Uint8Array, decode: (bytes: Uint8Array) => string = decodeText): void {
    if (bytes.length === 0 || bytes.length > this.roomBytes) return;
    this.#bytes += bytes.length;
    this.texts.push({ name, text: decode(bytes).replaceAll("\0", "") });
  }
}

export const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function startsWith(bytes: Uint8Array, at: number, text: string): boolean {
  return latin(bytes.subarray(at, at + text.length)) === text;
}

export const latin = (bytes: Uint8Array) => String.fromCharCode(...bytes.subarray(0, 256));

/** Most programs write UTF-8, also where the format says Latin-1. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
}

export const none = new Uint8Array();

/** A read behind the end of the data says that it is damaged. */
export function passUnlessDamage(error: unknown): void {
  if (!(error instanceof RangeError)) throw error;
}
