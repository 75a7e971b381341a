import { z } from "zod";
import { extensionOf, ingest, listImages, openFile } from "../../images/index.ts";
import { noteServed, openResult } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import { type MultipartRules, withParts } from "../http/multipart.ts";
import { servedStream } from "../http/streams.ts";
import type { ClientInput, ClientRoute } from "./route.ts";

/** The folders of IOPaint's file manager: uploads and results are the caller's pictures; masks are not listed. */
const tabs = { input: "upload", output: "result", mask: null } as const;
const tabSchema = z.enum(["input", "output", "mask"]);

/** The file manager shows all that it is told. */
const mostFiles = 500;

const notFound = (message: string) => new AppError("not_found", message);

function tabOf({ query }: ClientInput) {
  const tab = tabSchema.safeParse(query["tab"]);
  if (!tab.success) throw new AppError("bad_request", "tab must be input, output or mask");
  return tabs[tab.data];
}

/** GET medias: the newest pictures as files, whose names end with the id of the picture. */
const mediasRoute: ClientRoute = {
  method: "get",
  path: "/medias",
  operationId: "iopaintMedias",
  async handle(input) {
    const role = tabOf(input);
    if (role === null) return Response.json([]);
    const ownerId = input.caller.userId;
    const { items } = await listImages(input.services, { ownerId, role, order: "added", limit: mostFiles });
    return Response.json(
      items.map(({ id, title, mime, widthPx, heightPx, addedAt }) => {
        const addedAtS = Date.parse(addedAt) / 1_000;
        const name = `${title.replaceAll(/[\\/]/g, " ")} ${id}.${extensionOf(mime)}`.trim();
        return { name, height: heightPx, width: widthPx, ctime: addedAtS, mtime: addedAtS };
      }),
    );
  },
};

const namePattern = /(?<id>[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.[a-z]+$/;

/** The picture that a name of `medias` means. */
function idOf(input: ClientInput): string {
  tabOf(input);
  const id = namePattern.exec(input.query["filename"] ?? "")?.groups?.["id"];
  if (id === undefined) throw notFound("file not found");
  return id;
}

function fileRoute(path: `/${string}`, operationId: string, variant: "original" | "thumbnail"): ClientRoute {
  return {
    method: "get",
    path,
    operationId,
    async handle(input) {
      const { services, caller, request } = input;
      const isHead = request.method === "HEAD";
      const own = { id: idOf(input), ownerId: caller.userId, isHead };
      const { headers, body } = await (variant === "original"
        ? openResult(services, own)
        : openFile(services, { ...own, variant }));
      if (!body) return new Response(null, { headers });
      const onServed = async () => {
        if (variant === "original") await noteServed(services, own.id);
      };
      return new Response(servedStream(services, body, onServed), { headers });
    },
  };
}

const saveRules: MultipartRules = { files: { file: 1 }, fields: 4, fieldBytes: 1_024 };

/** POST save_image: the page's *Save* puts the picture into the gallery. */
const saveRoute: ClientRoute = {
  method: "post",
  path: "/save_image",
  operationId: "iopaintSaveImage",
  handle: ({ services, caller, request }) =>
    withParts(services, { request, caller, rules: saveRules }, async ({ files: [file] }) => {
      if (!file) throw new AppError("bad_request", "file is required as a file.");
      const { path: bytes, name } = file;
      const { signal } = request;
      await ingest(services, { ownerId: caller.userId, role: "upload", bytes, name, signal });
      return Response.json(null);
    }),
};

/** The routes of IOPaint's file manager and of saving, with the caller's gallery as the folders. */
export const iopaintFileRoutes: readonly ClientRoute[] = [
  mediasRoute,
  fileRoute("/media_file", "iopaintMediaFile", "original"),
  fileRoute("/media_thumbnail_file", "iopaintMediaThumbnail", "thumbnail"),
  saveRoute,
];
