import { NextIntlClientProvider } from "next-intl";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import messages from "../../messages/en.json" with { type: "json" };
import { CodeMissing } from "../ui/code.ts";
import { LoadFailed } from "./page-parts.tsx";

const drawn = (error: Error, wayOut?: ReactNode) =>
  renderToStaticMarkup(
    <NextIntlClientProvider locale="en" messages={messages} timeZone="UTC">
      <LoadFailed error={error} onRetry={() => undefined}>
        {wayOut}
      </LoadFailed>
    </NextIntlClientProvider>,
  );
const buttonOf = (error: Error) => drawn(error).match(/<button[^]*?<\/button>/)?.[0];

test("what could not be read is read again, but on a page that is older than the studio only a reload is offered", () => {
  const cause = new Error("the file is gone");
  expect(buttonOf(new CodeMissing("offline", cause))).toContain(messages.common.tryAgain);
  expect(buttonOf(new CodeMissing("outdated", cause))).toContain(messages.errors.outdated.reload);
});

test("what does not exist is not read again: the page shows where to go instead", () => {
  const all = messages.story.back;
  const wayOut = <p>{all}</p>;
  const missing = drawn(Object.assign(new Error("no such job"), { code: "not_found" }), wayOut);
  expect(missing).toContain(all);
  expect(missing).not.toContain(messages.common.tryAgain);
  const busy = drawn(Object.assign(new Error("later"), { code: "internal" }), wayOut);
  expect(busy).toContain(messages.common.tryAgain);
  expect(busy).not.toContain(all);
});
