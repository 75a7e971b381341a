import sharp from "sharp";

/** Reads the IPTC Digital Source Type out of a picture's XMP; null when it carries none. */
export async function readDigitalSourceType(bytes: Buffer): Promise<string | null> {
  const { xmpAsString } = await sharp(bytes).metadata();
  const match = /DigitalSourceType(?:="|>)([^"<]+)/.exec(xmpAsString ?? "");
  return match?.[1] ?? null;
}
