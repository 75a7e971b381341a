import type { Metadata } from "next";
import { getFormatter, getTranslations } from "next-intl/server";
import { cookies, headers } from "next/headers";
import type { ReactNode } from "react";
import { preload } from "react-dom";
import { procedures } from "@atelier/server/api";
import { countByDay, dayOf, orLate } from "@atelier/server/platform";
import { imageUrl } from "../client/urls.ts";
import { readZone, zoneCookie } from "../client/cookies.ts";
import { Words } from "../parts/words.tsx";
import { proportionOf } from "../pictures/justify.ts";
import { AiBadge } from "../pictures/picture.tsx";
import { findSession, nonceOf } from "../server/proxy-env.ts";
import { getServices } from "../server/services.ts";
import { DayHeading } from "./day-heading.tsx";
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

interface FirstTilesInput {
  readonly images: FirstPictures["list"]["items"];
  readonly timezone: string;
  readonly sent: Headers;
}

/** The newest pictures in the server's HTML, until the page's code lays them out; not seen before the script has placed them. */
async function firstTiles({ images, timezone, sent }: FirstTilesInput): Promise<ReactNode> {
  const [t, { dateTime }] = await Promise.all([getTranslations("gallery"), getFormatter()]);
  const days = countByDay(
    timezone,
    images.map(({ createdAt }) => new Date(createdAt)),
  );
  const names = { today: t("today"), yesterday: t("yesterday") };
  const today = dayOf(timezone, new Date());
  // One element around both: a long list is streamed by itself and put in its place later, with what the script observes.
  // The key: what is streamed later counts as a member of a list.
  return (
    <div key="first">
      <div
        aria-hidden
        data-days={[...days.values()].join()}
        suppressHydrationWarning
        className="invisible relative max-h-dvh overflow-clip"
      >
        {[...days.keys()].map((day) => (
          <div key={day} data-day suppressHydrationWarning className="absolute inset-x-0">
            <DayHeading day={day} today={today} names={names} dateTime={dateTime} />
          </div>
        ))}
        {images.map((image, at) => (
          <span
            key={image.id}
            data-proportion={proportionOf(image)}
            suppressHydrationWarning
            className="absolute bg-well"
          >
            <img
              src={imageUrl(image.id, "thumbnail")}
              alt=""
              loading={at < mostUrgent ? "eager" : "lazy"}
              fetchPriority={at < mostUrgent ? "high" : "auto"}
              className="size-full object-cover"
            />
            {image.isAi ? (
              <span className="absolute inset-e-1.5 bottom-1.5 flex">
                <AiBadge />
              </span>
            ) : null}
          </span>
        ))}
      </div>
      <script
        nonce={nonceOf(sent.get("content-security-policy"))}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: firstRowsScript() }}
      />
    </div>
  );
}

async function read(timezone: string, sent: Headers): Promise<FirstPictures> {
  const { images: pictures } = procedures(await getServices(), sent);
  const filters = { timezone, stacks: true, limit: galleryPageSize };
  const [list, { months }] = await Promise.all([pictures.list(filters), pictures.months({ timezone })]);
  const images = list.items.slice(0, mostFirst);
  return { list, months, tiles: await firstTiles({ images, timezone, sent }) };
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
  const first = read(timezone, new Headers(sent)).catch(() => null);
  return orLate(first, patienceMs, () => null);
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
