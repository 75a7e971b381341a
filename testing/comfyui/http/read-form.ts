import type { Call } from "./call.ts";

export interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly image: { readonly name: string; readonly bytes: Buffer } | null;
}

/** Reads a multipart form; null when it is none. */
export async function readForm(call: Call): Promise<Form | null> {
  const type = call.headers["content-type"] ?? "";
  const body = new Uint8Array(await call.readBody());
  const form = await parse(body, type);
  if (!form) return null;
  const fields = new Map<string, string>();
  let image: Form["image"] = null;
  for (const [name, value] of form) {
    if (typeof value === "string") fields.set(name, value);
    else if (name === "image")
      image = { name: rawName(value), bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return { fields, image };
}

/** aiohttp leaves the signs that a form's sender escaped as they came. */
function rawName({ name }: File): string {
  return name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

async function parse(body: Uint8Array<ArrayBuffer>, type: string): Promise<FormData | null> {
  try {
    return await new Response(body, { headers: { "content-type": type } }).formData();
  } catch {
    return null;
  }
}
