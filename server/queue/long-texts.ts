import { randomUUID } from "node:crypto";

/** PostgreSQL refuses payloads of 8,000 bytes and more; a part also holds its header. */
const partChars = 7_500;
const header = /^#(\S+) (\d+) (\d+) /;

/** Cuts a JSON text into payloads for NOTIFY; the header makes each part unique, because equal payloads are merged. */
export function cutText(json: string): string[] {
  const text = toAscii(json);
  if (text.length <= partChars) return [text];
  const id = randomUUID();
  const count = Math.ceil(text.length / partChars);
  return Array.from({ length: count }, (_, at) => {
    const part = text.slice(at * partChars, (at + 1) * partChars);
    return `#${id} ${at} ${count} ${part}`;
  });
}

/** Escapes all other characters, so that a character is a byte. */
function toAscii(json: string): string {
  return json.replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Passes on whole texts. The parts of a text arrive in order; a text with a missing part is dropped. */
export function joinTexts(onText: (text: string) => void): (payload: string) => void {
  let id = "";
  let parts: string[] = [];
  return (payload) => {
    const head = header.exec(payload);
    if (!head) {
      onText(payload);
      return;
    }
    const [start, partId = "", at, count] = head;
    if (at === "0") {
      id = partId;
      parts = [];
    }
    if (partId !== id || Number(at) !== parts.length) return;
    parts.push(payload.slice(start.length));
    if (parts.length === Number(count)) onText(parts.join(""));
  };
}
