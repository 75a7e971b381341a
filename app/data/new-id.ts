/** 128 random bits in hex; `crypto.randomUUID` is missing over plain http on a LAN address. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
