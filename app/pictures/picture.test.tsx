import { NextIntlClientProvider } from "next-intl";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import de from "../../messages/de.json" with { type: "json" };
import en from "../../messages/en.json" with { type: "json" };
import type { ImageView } from "@atelier/server/images";
import { useImageName } from "./picture.tsx";

const messages = { en, de };
const untitled = { title: "", kind: null, createdAt: "2026-11-05T12:30:45Z" };

function nameOf(locale: keyof typeof messages, image: object, isAlone?: boolean): string {
  // Safe cast: of an image the name reads these alone.
  const Name = () => useImageName(isAlone)(image as ImageView);
  return renderToStaticMarkup(
    <NextIntlClientProvider locale={locale} messages={messages[locale]} timeZone="UTC">
      <Name />
    </NextIntlClientProvider>,
  );
}

test("a picture without a title is named by its time, to the second among others and to the minute alone", () => {
  expect(nameOf("en", untitled)).toMatch(/^Upload, November 5\b.*12:30:45/);
  expect(nameOf("en", untitled, true)).toMatch(/^Upload, November 5\b.*12:30(?!:)/);
  expect(nameOf("de", untitled, true)).toMatch(/5\. November.*12:30(?!:)/);
  expect(nameOf("en", { ...untitled, title: "A cup" }, true)).toBe("A cup");
});
