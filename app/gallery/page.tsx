import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { cookies, headers } from "next/headers";
import { preload } from "react-dom";
import { procedures } from "@atelier/server/api";
import { countByDay } from "@atelier/server/platform";
import { imageUrl } from "../client/urls.ts";
import { readZone, zoneCookie } from "../client/cookies.ts";
import { Words } from "../parts/words.tsx";
import { findSession, nonceOf } from "../server/proxy-env.ts";
import { getServices } from "../server/services.ts";
import { Gallery } from "./gallery.tsx";
import { firstRowsScript, galleryPageSize, mostFirst, mostUrgent } from "./layout-rows.ts";
import type { FirstPictures } from "./window.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("frame");
  return { title: t("pages.gallery") };
}

/**
 * The page comes without its pictures when they take longer: the browser then asks for them. Meanwhile it reads the frame and the scripts, so that
 * waiting costs no more than asking would.
 */
const patienceMs = 1_000;

interface Props {
  readonly searchParams: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

async function read(timezone: string, sent: Headers): Promise<FirstPictures> {
  const { images } = procedures(await getServices(), sent);
  const nonce = nonceOf(sent.get("content-security-policy"));
  const filters = { timezone, stacks: true, limit: galleryPageSize };
  const [list, { months }] = await Promise.all([images.list(filters), images.months({ timezone })]);
  const first = list.items.slice(0, mostFirst).map(({ createdAt }) => new Date(createdAt));
  return { list, months, rows: { days: countByDay(timezone, first), script: firstRowsScript(), nonce } };
}

/**
 * The newest pictures with the page itself, so that they need not wait for its scripts. Only when a browser opens the studio with it: from another
 * page of the studio the gallery is there at once, and asks by itself. Null without a session, for a search, and when the database is away.
 */
async function readFirst({ searchParams }: Props): Promise<FirstPictures | null> {
  const [jar, sent, { search }] = await Promise.all([cookies(), headers(), searchParams]);
  const timezone = readZone(jar.get(zoneCookie)?.value);
  const hasSession = findSession(jar.getAll()) !== null;
  const isOpened = sent.get("accept")?.includes("text/html") ?? false;
  if (!isOpened || !hasSession || timezone === null || search !== undefined) return null;
  const isLate = new Promise<null>((resolve) => setTimeout(resolve, patienceMs, null));
  return Promise.race([read(timezone, new Headers(sent)).catch(() => null), isLate]);
}

export default async function GalleryPage(props: Props) {
  const first = await readFirst(props);
  for (const { id } of first?.list.items.slice(0, mostUrgent) ?? [])
    preload(imageUrl(id, "thumbnail"), { as: "image", fetchPriority: "high" });
  return (
    <Words of="app/gallery/page.tsx">
      <Gallery first={first} />
    </Words>
  );
}
