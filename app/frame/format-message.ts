import compile from "icu-minify/compile";
import formatCompiled from "use-intl/format-message/format-only";

/** A text as it is shown, or what `icu-minify` made of one. */
type Message = Parameters<typeof formatCompiled>[1];

type Catalogue<Texts> = { [Key in keyof Texts]: Texts[Key] extends string ? Message : Catalogue<Texts[Key]> };

/** One that is read as ICU, too, when it has been compiled. */
const special = /['{}<#|]/;

/** A text stays one only where reading it again changes nothing; else it is a list, which is never read again. */
function compileText(text: string): Message {
  // The choices have no prototype, with which React sends no object to the browser.
  const message: Message = JSON.parse(JSON.stringify(compile(text)));
  return typeof message === "string" && special.test(message) ? [message] : message;
}

/** All texts of a catalogue as the browser takes them, which has no reader of ICU messages. */
export function compileCatalogue<Texts extends object>(texts: Texts): Catalogue<Texts> {
  const entries = Object.entries(texts).map(([key, text]) => [
    key,
    typeof text === "string" ? compileText(text) : compileCatalogue(text),
  ]);
  // Safe cast: the same keys.
  return Object.fromEntries(entries) as Catalogue<Texts>;
}

const compiled = new Map<string, Message>();

function compiledOnce(text: string): Message {
  const known = compiled.get(text) ?? compileText(text);
  compiled.set(text, known);
  return known;
}

/**
 * What next-intl formats with on the server (`next.config.mjs`), where compiled texts of pages and plain ones of mails and
 * answers meet; in the browser it is `format-only` alone.
 */
// oxlint-disable-next-line import/no-default-export -- use-intl asks for it
export default function formatMessage(...[path, message, ...rest]: Parameters<typeof formatCompiled>) {
  return formatCompiled(path, typeof message === "string" ? compiledOnce(message) : message, ...rest);
}
formatMessage.raw = false;
