import type { MetadataRoute } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { directionOf } from "@atelier/server/locales";
import { takePath } from "./shared/take-worker.ts";

const pages = ["gallery", "create", "assistant"] as const;

/** The studio as an app on a home screen, in the language that the browser asks for: it sends no cookies with this request. */
export default async function manifest(): Promise<MetadataRoute.Manifest> {
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
