import type { MetadataRoute } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { forMethods } from "@atelier/server/api";
import { directionOf } from "@atelier/server/locales";
import { withServices } from "../server/services.ts";
import { takePath } from "../shared/take-worker.ts";

export const dynamic = "force-dynamic";

const pages = ["gallery", "create", "assistant"] as const;

/** The studio as an app on a home screen, in the language of its pages. */
async function describe(): Promise<MetadataRoute.Manifest> {
  const [locale, meta, frame] = await Promise.all([
    getLocale(),
    getTranslations("meta"),
    getTranslations("frame.pages"),
  ]);
  return {
    id: "/",
    name: meta("title"),
    short_name: meta("title"),
    description: meta("description"),
    lang: locale,
    dir: directionOf(locale),
    start_url: "/",
    scope: "/",
    display: "standalone",
    background_color: "#fbf9f6",
    theme_color: "#fbf9f6",
    categories: ["photo", "graphics"],
    icons: [
      { src: "/icons/192.png", sizes: "192x192", type: "image/png" },
      { src: "/icons/512.png", sizes: "512x512", type: "image/png" },
      { src: "/icons/512-filled.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
    ],
    shortcuts: pages.map((page) => ({
      name: frame(page),
      url: `/${page}`,
      icons: [{ src: "/icons/192.png", sizes: "192x192", type: "image/png" }],
    })),
    share_target: {
      action: takePath,
      method: "POST",
      enctype: "multipart/form-data",
      params: { files: { name: "pictures", accept: ["image/*"] } },
    },
  };
}

async function answer(): Promise<Response> {
  const headers = {
    "content-type": "application/manifest+json; charset=utf-8",
    "cache-control": "private, no-cache",
    vary: "Accept-Language, Cookie",
  };
  return new Response(JSON.stringify(await describe()), { headers });
}

const handler = withServices(forMethods(["GET"], answer));

export {
  handler as DELETE,
  handler as GET,
  handler as OPTIONS,
  handler as PATCH,
  handler as POST,
  handler as PUT,
};
