import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ShownLink, ShownPicture } from "../../links/index.ts";
import { logo } from "../http/docs.ts";
import { visitorScript, visitorStyle } from "./look.ts";

type Text =
  | "title"
  | "titleOne"
  | "count"
  | "open"
  | "picture"
  | "position"
  | "previous"
  | "next"
  | "all"
  | "download"
  | "ai"
  | "aiLong"
  | "aiPicture"
  | "madeWith"
  | "password.title"
  | "password.text"
  | "password.label"
  | "password.wrong"
  | "password.open"
  | "gone.title"
  | "gone.text"
  | "away.title"
  | "away.text"
  | "tooMany.title"
  | "tooMany.text";

/** A text of the visitor's pages in their language. */
export type VisitorTexts = (key: Text, values?: Record<string, string | number>) => string;

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** One page: its title and what stands in it. */
export interface View {
  title(texts: VisitorTexts): string;
  main(texts: VisitorTexts): Html;
  /** The picture fills the page, on a dark ground. */
  readonly isRoom?: true;
}

interface Look {
  readonly nonce: string;
  /** The browser fetches the page before anyone sees it. */
  readonly isAhead: boolean;
  readonly theme: "dark" | "light" | undefined;
  readonly fonts: string;
  readonly locale: string;
  readonly texts: VisitorTexts;
}

export function page(view: View, { nonce, isAhead, theme, fonts, locale, texts }: Look): Html {
  return html`<!doctype html>
    <html
      lang="${locale}"
      data-theme="${theme ?? "system"}"
      class="${view.isRoom ? "room" : ""}"
      ${isAhead ? raw("data-ahead") : ""}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
        <meta name="robots" content="noindex, nofollow, noarchive" />
        <title>${view.title(texts)}</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <style>
          ${raw(`${fonts}\n${visitorStyle}`)}
        </style>
      </head>
      <body>
        ${view.main(texts)}
        <footer>${logo}<span>${texts("madeWith")}</span></footer>
        <script nonce="${nonce}">
          ${raw(visitorScript)};
        </script>
      </body>
    </html>`;
}

interface Shown {
  /** `/l/<token>`. */
  readonly base: string;
  readonly link: ShownLink;
}

const titleOf = ({ title, pictures, open }: ShownLink, texts: VisitorTexts) =>
  title || texts(pictures.length + open === 1 ? "titleOne" : "title");

/** The text in place of a picture: it says that AI made it, as the label on screen does. */
function nameOf({ label, isAi }: ShownPicture, at: number, texts: VisitorTexts): string {
  const name = label || texts("picture", { number: at + 1 });
  return isAi ? texts("aiPicture", { name }) : name;
}

/** Width ÷ height of a cell: that of the picture in the middle, so that a lookbook has no bands. */
function proportionOf(pictures: readonly ShownPicture[]): number {
  const all = pictures.map(({ widthPx, heightPx }) => widthPx / heightPx).toSorted((a, b) => a - b);
  return Math.min(1.6, Math.max(0.6, all[Math.floor(all.length / 2)] ?? 0.75));
}

const thumbnailPx = 320;
const previewPx = 1_280;

/** Widths of the two files that are smaller than the original. */
function sourcesOf(address: string, { widthPx, heightPx }: ShownPicture): string {
  const widthAt = (px: number) => Math.round(widthPx * Math.min(1, px / Math.max(widthPx, heightPx)));
  return `${address}/thumbnail ${widthAt(thumbnailPx)}w, ${address}/preview ${widthAt(previewPx)}w`;
}

const fewPictures = 6;

/** All pictures of a link; while more are being made, the page looks for them. */
export function gridView({ base, link }: Shown): View {
  const { pictures, open } = link;
  const isFew = pictures.length + open <= fewPictures;
  return {
    title: (texts) => titleOf(link, texts),
    main: (texts) =>
      html`<main ${open > 0 ? raw("data-open") : ""}>
        <header>
          <h1>${titleOf(link, texts)}</h1>
          <p role="status">
            ${texts("count", { count: pictures.length })}${open > 0 ? ` · ${texts("open", { count: open })}` : ""}
          </p>
        </header>
        <ol class="grid ${isFew ? "few" : ""}" style="--proportion: ${proportionOf(pictures).toFixed(3)}">
          ${pictures.map(
            (picture, at) =>
              html`<li>
                <a href="${base}/${at + 1}">
                  <img
                    src="${base}/${picture.id}/preview"
                    srcset="${sourcesOf(`${base}/${picture.id}`, picture)}"
                    sizes="(max-width: 640px) 50vw, ${isFew ? "380px" : "280px"}"
                    alt="${nameOf(picture, at, texts)}"
                    loading="lazy"
                  />
                  ${picture.isAi ? html`<span class="ai" aria-hidden="true">${texts("ai")}</span>` : ""}
                  ${picture.label === "" ? "" : html`<span aria-hidden="true">${picture.label}</span>`}
                </a>
              </li>`,
          )}
          ${Array.from({ length: open }, () => html`<li class="waits" aria-hidden="true"></li>`)}
        </ol>
      </main>`,
  };
}

const arrow = (path: string) =>
  html`<svg viewBox="0 0 24 24" fill="none" aria-hidden="true">
    <path
      d="${path}"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
    />
  </svg>`;

const shapes = { previous: "m15 5-7 7 7 7", next: "m9 5 7 7-7 7", all: "M19 12H5m6-7-7 7 7 7" } as const;

interface StepProps {
  readonly to: "previous" | "next";
  readonly href: string | null;
  readonly texts: VisitorTexts;
}

function step({ to, href, texts }: StepProps) {
  if (href === null) return "";
  const rel = to === "next" ? "next" : "prev";
  return html`<a class="step ${to}" rel="${rel}" href="${href}" aria-label="${texts(to)}"
    >${arrow(shapes[to])}</a
  >`;
}

/** One picture, with the way to its neighbours. */
export function pictureView({ base, link, at }: Shown & { readonly at: number }): View {
  const { pictures, open, mayDownload } = link;
  const picture = pictures[at];
  if (picture === undefined) return goneView;
  const hasMore = pictures.length + open > 1;
  const hrefOf = (to: number) => (pictures[to] === undefined ? null : `${base}/${to + 1}`);
  return {
    isRoom: true,
    title: (texts) => titleOf(link, texts),
    main: (texts) =>
      html`<main class="one">
        <header>
          ${
            hasMore
              ? html`<a rel="up" href="${base}">${arrow(shapes.all)}<span>${texts("all")}</span></a>`
              : ""
          }
          <h1>${titleOf(link, texts)}</h1>
          ${
            mayDownload
              ? html`<a class="button" href="${base}/${picture.id}/original" download
                  >${texts("download")}</a
                >`
              : ""
          }
        </header>
        <figure>
          ${picture.isAi ? html`<span class="ai">${texts("aiLong")}</span>` : ""}
          <img
            src="${base}/${picture.id}/preview"
            width="${picture.widthPx}"
            height="${picture.heightPx}"
            alt="${nameOf(picture, at, texts)}"
          />
          ${step({ to: "previous", href: hrefOf(at - 1), texts })}
          ${step({ to: "next", href: hrefOf(at + 1), texts })}
          ${
            hasMore
              ? html`<figcaption>
                  ${picture.label === "" ? "" : html`<span>${picture.label}</span>`}
                  <span class="count">${texts("position", { number: at + 1, count: pictures.length })}</span>
                </figcaption>`
              : ""
          }
        </figure>
      </main>`,
  };
}

interface PasswordProps {
  readonly address: string;
  readonly isWrong: boolean;
}

/** Names neither title nor owner: only who knows the password learns what is behind it. */
export function passwordView({ address, isWrong }: PasswordProps): View {
  return {
    title: (texts) => texts("password.title"),
    main: (texts) =>
      html`<main class="card">
        <h1>${texts("password.title")}</h1>
        <p>${texts("password.text")}</p>
        <form method="post" action="${address}">
          <label for="password">${texts("password.label")}</label>
          <input
            id="password"
            name="password"
            type="password"
            autocomplete="off"
            required
            autofocus
            ${isWrong ? raw('aria-invalid="true" aria-describedby="wrong"') : ""}
          />
          ${isWrong ? html`<p id="wrong" role="alert">${texts("password.wrong")}</p>` : ""}
          <button class="primary">${texts("password.open")}</button>
        </form>
      </main>`,
  };
}

const noticeView = (name: "away" | "gone" | "tooMany"): View => ({
  title: (texts) => texts(`${name}.title`),
  main: (texts) =>
    html`<main class="card">
      <h1>${texts(`${name}.title`)}</h1>
      <p>${texts(`${name}.text`)}</p>
    </main>`,
});

/** The same for an address that ended, was revoked, or never was. */
export const goneView = noticeView("gone");
/** The studio has a fault: the link may be as good as ever. */
export const awayView = noticeView("away");
export const tooManyView = noticeView("tooMany");
