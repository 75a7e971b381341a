import { thumbHashToDataURL } from "thumbhash";

const known = new Map<string, string>();

/** data: URL of a blurred picture, decoded once per hash. */
export function thumbhashUrl(thumbhash: string): string {
  const found = known.get(thumbhash);
  if (found !== undefined) return found;
  const url = thumbHashToDataURL(Uint8Array.from(atob(thumbhash), (sign) => sign.charCodeAt(0)));
  known.set(thumbhash, url);
  return url;
}
