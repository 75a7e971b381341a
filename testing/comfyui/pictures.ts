/** Raw pixels of one picture or mask: bytes, row-major, `channels` per pixel. */
export interface Frame {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 3 | 4;
  readonly data: Uint8Array;
}

/** A frame of one colour; `pixel` has a byte per channel. */
export function solidFrame(widthPx: number, heightPx: number, pixel: readonly number[]): Frame {
  const channels = pixel.length === 1 ? 1 : pixel.length === 4 ? 4 : 3;
  const data = Buffer.alloc(widthPx * heightPx * channels, Uint8Array.from(pixel));
  return { widthPx, heightPx, channels, data };
}

/** A frame of the same size and channels whose bytes are computed from the old ones. */
export function mapBytes(frame: Frame, change: (value: number, at: number) => number): Frame {
  const data = new Uint8ClampedArray(frame.data.length);
  for (let at = 0; at < data.length; at += 1) data[at] = change(frame.data[at] ?? 0, at);
  return { ...frame, data: new Uint8Array(data.buffer) };
}

/** One channel as a frame of its own. */
export function channelOf(frame: Frame, channel: number): Frame {
  const data = new Uint8Array(frame.widthPx * frame.heightPx);
  for (let at = 0; at < data.length; at += 1) data[at] = frame.data[at * frame.channels + channel] ?? 0;
  return { widthPx: frame.widthPx, heightPx: frame.heightPx, channels: 1, data };
}

/** Drops alpha, or repeats the one channel three times. */
export function toRgb(frame: Frame): Frame {
  if (frame.channels === 3) return frame;
  const { widthPx, heightPx, channels } = frame;
  const data = new Uint8Array(widthPx * heightPx * 3);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.trunc(at / 3);
    data[at] = frame.data[pixel * channels + (channels === 1 ? 0 : at % 3)] ?? 0;
  }
  return { widthPx, heightPx, channels: 3, data };
}
