import { NextIntlClientProvider } from "next-intl";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import messages from "../../messages/en.json" with { type: "json" };
import { CodeMissing } from "../ui/code.ts";
import { LoadFailed } from "./page-parts.tsx";

const buttonOf = (error: Error) =>
  renderToStaticMarkup(
    <NextIntlClientProvider locale="en" messages={messages} timeZone="UTC">
      <LoadFailed error={error} onRetry={() => undefined} />
    </NextIntlClientProvider>,
  ).match(/<button[^]*?<\/button>/)?.[0];

test("what could not be read is read again, but on a page that is older than the studio only a reload is offered", () => {
  const cause = new Error("the file is gone");
  expect(buttonOf(new CodeMissing("offline", cause))).toContain(messages.common.tryAgain);
  expect(buttonOf(new CodeMissing("outdated", cause))).toContain(messages.errors.outdated.reload);
});
