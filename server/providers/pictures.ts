import type { InputValue, ProviderPicture } from "./port.ts";

/** A plain JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Replaces each picture of an input by what stands for it in the provider's JSON, such as an address or a data URI. */
export async function encodePictures(
  input: Readonly<Record<string, InputValue>>,
  encode: (picture: ProviderPicture) => string | Promise<string>,
): Promise<Record<string, Json>> {
  const entries = Object.entries(input).map(
    async ([name, value]) => [name, await encodeValue(value, encode)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function encodeValue(
  value: InputValue,
  encode: (picture: ProviderPicture) => string | Promise<string>,
): Promise<Json> {
  if (typeof value !== "object" || value === null) return value;
  if (isPicture(value)) return encode(value);
  if (isList(value)) return Promise.all(value.map((item) => encodeValue(item, encode)));
  return encodePictures(value, encode);
}

function isList(value: InputValue): value is readonly InputValue[] {
  return Array.isArray(value);
}

/** Whether a value of an input is a picture. */
export function isPicture(value: InputValue): value is ProviderPicture {
  return typeof value === "object" && value !== null && "bytes" in value && value.bytes instanceof Uint8Array;
}

export function toBase64({ bytes }: ProviderPicture): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function toDataUri(picture: ProviderPicture): string {
  return `data:${picture.mime};base64,${toBase64(picture)}`;
}
