import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  type ReadResourceResult,
  ReadResourceRequestSchema,
  type Resource,
} from "@modelcontextprotocol/sdk/types.js";
import { findImage, type ImageView, listImages } from "../../images/index.ts";
import { AppError } from "../../platform/index.ts";
import type { ClientInput } from "../clients/route.ts";
import { readPicture } from "./making.ts";
import { asRpc } from "./tasks.ts";

const previewMime = "image/webp";
const perPage = 50;

/** As base64 in JSON: programs that talk by stdin and stdout read lines of 10 MiB at most. */
const maxOriginalBytes = 7 * 1_048_576;

const uriOf = (id: string) => `atelier://pictures/${id}`;
const uriPattern = /^atelier:\/\/pictures\/([0-9a-f-]{36})(\/original)?$/;

const resourceTemplates = [
  {
    name: "picture",
    title: "Picture",
    uriTemplate: uriOf("{pictureId}"),
    description: "A picture of the gallery, at most 1,280 pixels on the longer side.",
    mimeType: previewMime,
  },
  {
    name: "original",
    title: "Original of a picture",
    uriTemplate: `${uriOf("{pictureId}")}/original`,
    description: "The file as it is stored, at most 7 MiB: PNG, JPEG or WebP.",
  },
];

/** The pictures of the key's owner as resources. Another's picture is as unknown as one that never was. */
export function serveResources(server: McpServer["server"], input: ClientInput): void {
  const { services, caller } = input;
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }));
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) =>
    asRpc(services, async () => {
      const asked = {
        ownerId: caller.userId,
        cursor: params?.cursor,
        limit: perPage,
        order: "added",
      } as const;
      const { items, nextCursor } = await listImages(services, asked);
      return { resources: items.map(toResource), ...(nextCursor === null ? {} : { nextCursor }) };
    }),
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) =>
    asRpc(services, () => readResource(input, uri)),
  );
}

function toResource({ id, title, role, kind, widthPx, heightPx, addedAt }: ImageView): Resource {
  return {
    uri: uriOf(id),
    name: title === "" ? id : title,
    description: `${kind ?? role}, ${widthPx} × ${heightPx} px`,
    mimeType: previewMime,
    annotations: { lastModified: addedAt },
  };
}

/** Throws -32002 for an unknown one, and `bad_request` for a file above the limit. */
async function readResource(input: ClientInput, uri: string): Promise<ReadResourceResult> {
  const [, id, original] = uriPattern.exec(uri) ?? [];
  const image =
    id === undefined ? null : await findImage(input.services, { id, ownerId: input.caller.userId });
  if (!image) throw new McpError(notFound, "Resource not found", { uri: uri.slice(0, 200) });
  const { sizeBytes } = image;
  if (original !== undefined && sizeBytes > maxOriginalBytes)
    throw new AppError(
      "bad_request",
      `The file has ${sizeBytes} bytes, and at most ${maxOriginalBytes} are sent. Read ${uriOf(image.id)}, which is scaled down.`,
    );
  const variant = original === undefined ? "preview" : "original";
  const { base64, mimeType } = await readPicture(input, image.id, variant);
  return { contents: [{ uri, mimeType, blob: base64 }] };
}

/** The number that the specification has for it; the SDK names none. */
const notFound = -32_002;
