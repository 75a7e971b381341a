import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { type Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { extensionOf, variants } from "../../images/index.ts";
import { noteView, openPicture, proveVisit, type ShownLink, visitLink } from "../../links/index.ts";
import { AppError, keptBy, isFault } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { studioFonts, themeOf } from "../http/docs.ts";
import { servedStream, withoutBody } from "../http/streams.ts";
import { answerMethod } from "../methods.ts";
import { admitNetwork, classifyError, readLimited, withRequestId } from "../requests.ts";
import {
  awayView,
  goneView,
  gridView,
  page,
  passwordView,
  pictureView,
  tooManyView,
  type View,
  type VisitorTexts,
} from "./page.ts";

/** What the pages read of the catalogue of texts. */
export interface VisitorLanguage {
  readonly texts: VisitorTexts;
  readonly locale: string;
}

interface Bindings {
  readonly Bindings: VisitorLanguage;
}

type VisitContext = Context<Bindings>;

const privately = {
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow, noarchive, noimageindex",
};

function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'unsafe-inline'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const proofCookie = "atelier-link";

const addressOf = (context: VisitContext) => ({
  token: context.req.param("token") ?? "",
  proof: getCookie(context, proofCookie),
});

async function showPage(context: VisitContext, view: View, status: 200 | 403 | 404 | 429 | 503 = 200) {
  const nonce = randomBytes(16).toString("base64");
  const { texts, locale } = context.env;
  const own = { nonce, isAhead: isAhead(context.req.raw) };
  const look = { ...own, theme: themeOf(context), fonts: await studioFonts(), locale, texts };
  context.header("content-security-policy", policyOf(nonce));
  for (const [name, value] of Object.entries(privately)) context.header(name, value);
  return context.html(page(view, look), status);
}

/** The link, or the page that stands in its place until the password is given. */
async function findShown(services: Services, context: VisitContext): Promise<ShownLink | Response> {
  const visit = await visitLink(services, addressOf(context));
  return visit.state === "shown"
    ? visit.link
    : showPage(context, passwordView({ address: baseOf(context), isWrong: false }));
}

const baseOf = (context: VisitContext) => `/l/${context.req.param("token") ?? ""}`;

/** How programs name themselves that fetch a page for its preview in a chat, to list it, or to look for harm. Phones of Cubot are none. */
const programs: readonly RegExp[] = [
  /(?<!cu)bot\b/i,
  /crawl|spider|slurp|preview|scrap/i,
  /externalhit|externalagent/i,
  // Browsers name no address of their maker.
  /https?:\/\//i,
];

/** Browsers all begin so. */
const browser = /^(?:Mozilla|Opera)\//;

/** Whether a browser asks, as far as it says. */
function isOfBrowser({ headers }: Request): boolean {
  const agent = headers.get("user-agent")?.trim() ?? "";
  return browser.test(agent) && !programs.some((form) => form.test(agent));
}

/** Whether the page is fetched ahead of a person who may follow the link, and may never be shown. */
const isAhead = ({ headers }: Request): boolean =>
  ["sec-purpose", "purpose", "x-purpose", "x-moz"].some((name) =>
    /prefetch|preview/i.test(headers.get(name) ?? ""),
  );

async function showLink(services: Services, context: VisitContext): Promise<Response> {
  const link = await findShown(services, context);
  if (link instanceof Response) return link;
  // A page that looks whether more is there is no further visit; one that was fetched ahead asks again when it is shown.
  const isVisit =
    context.req.method === "GET" && context.req.query("again") === undefined && isOfBrowser(context.req.raw);
  if (isVisit && !isAhead(context.req.raw)) services.later(noteView(services, link.id));
  const [only, second] = link.pictures;
  const isOne = only !== undefined && second === undefined && link.open === 0;
  const base = baseOf(context);
  return showPage(context, isOne ? pictureView({ base, link, at: 0 }) : gridView({ base, link }));
}

async function showPicture(services: Services, context: VisitContext): Promise<Response> {
  const link = await findShown(services, context);
  if (link instanceof Response) return link;
  const at = Number(context.req.param("number")) - 1;
  if (link.pictures[at] === undefined) throw new AppError("not_found");
  return showPage(context, pictureView({ base: baseOf(context), link, at }));
}

const maxFormBytes = 8_192;

/** By the proxy that `scripts/web/front-door.ts` trusts, else by the address itself. */
function isEncrypted({ headers, url }: Request): boolean {
  return (headers.get("x-forwarded-proto") ?? new URL(url).protocol).startsWith("https");
}

/**
 * Asks for no origin: a page that sends no referrer sends none with its form either, and a try of another site carries
 * nobody's rights.
 */
async function takePassword(services: Services, context: VisitContext): Promise<Response> {
  const { token, proof } = addressOf(context);
  const request = context.req.raw;
  const visit = await visitLink(services, { token, proof });
  if (visit.state === "password") {
    await admitNetwork(services, context.req.raw.headers, `linkPasswords`, `${visit.linkId}|`);
    const form = await readLimited(request, maxFormBytes);
    const password = new URLSearchParams(new TextDecoder().decode(form ?? undefined)).get("password") ?? "";
    const proven = await proveVisit(services, { token, password });
    if (proven === null)
      return showPage(context, passwordView({ address: baseOf(context), isWrong: true }), 403);
    setCookie(context, proofCookie, proven.proof, {
      path: baseOf(context),
      maxAge: proven.maxAgeS,
      httpOnly: true,
      sameSite: "Lax",
      secure: isEncrypted(request),
    });
  }
  for (const [name, value] of Object.entries(privately)) context.header(name, value);
  return context.redirect(baseOf(context), 303);
}

const isVariant = (name: string | undefined) => variants.find((variant) => variant === name);

async function sendPicture(services: Services, context: VisitContext): Promise<Response> {
  const variant = isVariant(context.req.param("variant"));
  if (variant === undefined) throw new AppError("not_found");
  const isHead = context.req.method === "HEAD";
  const { position, headers, isCurrent, body } = await openPicture(services, {
    ...addressOf(context),
    imageId: context.req.param("image") ?? "",
    variant,
    ifNoneMatch: context.req.header("if-none-match") ?? null,
    isHead,
  });
  // The title of the file is its owner's.
  const name = `picture-${position + 1}.${extensionOf(headers["content-type"] ?? "")}`;
  const kind = variant === "original" ? "attachment" : "inline";
  const own = { ...headers, ...privately, "content-disposition": `${kind}; filename="${name}"` };
  // Asked again each time, so that a revoked link shows nothing from a browser's copy either.
  const all = { ...own, "cache-control": "private, no-cache" };
  if (!body) return new Response(null, { status: isCurrent ? 304 : 200, headers: all });
  return new Response(streamOf(services, body), { headers: all });
}

const streamOf = (services: Services, body: Readable) =>
  servedStream(services, body, () => Promise.resolve());

/** What a visitor sees of a failure: too many requests, a fault of the studio, else the same as at an address that never was. */
function showFailure(services: Services, context: VisitContext, error: unknown): Promise<Response> {
  const { code, cause } = classifyError(error);
  if (code === "rate_limited") return showPage(context, tooManyView, 429);
  const isOurs = isFault(code);
  if (isOurs) services.log.error({ code, err: cause ?? error }, "visit of a link failed");
  return isOurs ? showPage(context, awayView, 503) : showPage(context, goneView, 404);
}

function createVisitorApp(services: Services): Hono<Bindings> {
  const app = new Hono<Bindings>().basePath("/l/:token{[\\w-]+}");
  app.onError((error, context) => showFailure(services, context, error));
  app.notFound((context) =>
    ["GET", "HEAD"].includes(context.req.method)
      ? showFailure(services, context, new AppError("not_found"))
      : Promise.resolve(answerMethod(context.req.raw, ["GET", "HEAD"])),
  );
  app.use(async (context, next) => {
    await admitNetwork(services, context.req.raw.headers, "visits");
    await next();
    if (context.req.method === "HEAD") context.res = await withoutBody(context.res);
  });
  app.get("/", (context) => showLink(services, context));
  app.post("/", (context) => takePassword(services, context));
  app.get("/:number{[0-9]+}", (context) => showPicture(services, context));
  app.get("/:image/:variant", (context) => sendPicture(services, context));
  return app;
}

const appOf = keptBy(createVisitorApp);

/**
 * The pages behind links, `/l/<token>`: plain HTML outside of the studio's frame, for people without an account. No log has
 * their addresses, which are secret.
 */
export function handleVisit(
  services: Services,
  request: Request,
  language: VisitorLanguage,
): Promise<Response> {
  return withRequestId(request, () => appOf(services).fetch(request, language));
}
