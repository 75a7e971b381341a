import { extensionOf, variantMime } from "./object-keys.ts";
import type { Variant } from "./image.ts";
import type { ImageRow } from "./to-view.ts";

export interface FileHeaders {
  readonly etag: string;
  readonly "content-type": string;
  readonly "content-disposition": string;
  readonly "cache-control": string;
  readonly vary: string;
  readonly "x-content-type-options": "nosniff";
  readonly "content-security-policy": string;
  readonly "cross-origin-resource-policy": "same-origin";
}

type Named = Pick<ImageRow, "id" | "title" | "mime" | "storedSha256">;

/** Headers that keep a picture a picture: fixed type, no sniffing, no scripts, for its owner alone. */
export function fileHeaders(
  image: Named,
  { variant, download }: { readonly variant: Variant; readonly download?: boolean | undefined },
): FileHeaders {
  return {
    etag: `"${image.storedSha256.slice(0, 32)}-${variant}"`,
    "content-type": variantMime(image.mime, variant),
    "content-disposition": disposition(image, variant, download ? "attachment" : "inline"),
    // Asked for again each time (304), so that after a sign-out the next user of the browser sees nothing.
    "cache-control": "private, no-cache",
    vary: "Cookie, Authorization",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
  };
}

/** RFC 6266: a plain name for old clients, the full one in UTF-8. */
function disposition(image: Named, variant: Variant, type: "inline" | "attachment"): string {
  const extension = extensionOf(variantMime(image.mime, variant));
  const base = image.title.replaceAll(/[/\\:*?"<>|]/g, "").replace(/^[.\s]+/, "") || `atelier-${image.id}`;
  const plain = base.replaceAll(/[^\x20-\x7e]|[%"\\]/g, "_");
  const full = encodeURIComponent(`${base}.${extension}`).replaceAll(/['()*]/g, percentEncode);
  return `${type}; filename="${plain}.${extension}"; filename*=UTF-8''${full}`;
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
