import { expect, test, vi } from "vitest";
import { pastedFiles, wouldLeavePage } from "./collect.ts";

/** A part of a page; `within` is what it lies in. */
class Part {
  readonly within: string;
  constructor(within: string) {
    this.within = within;
  }
  closest(selector: string): Part | null {
    return selector.split(", ").includes(this.within) ? this : null;
  }
}
vi.stubGlobal("Element", Part);

test.each([
  ["a link", ["text/uri-list", "text/plain"], "main", true],
  ["a link in Firefox", ["text/x-moz-url", "text/plain"], "main", true],
  ["a picture of a page, with its file", ["text/uri-list", "text/html", "Files"], "main", false],
  ["files", ["Files"], "main", false],
  ["words", ["text/plain", "text/html"], "main", false],
  ["a link into a prompt", ["text/uri-list"], "textarea", false],
])("%s that is dropped would replace the page: %o in %s, %s", (_what, types, within, leaves) => {
  // Safe cast: only the types of a transfer are read, and only `closest` of a target.
  const event = { defaultPrevented: false, dataTransfer: { types }, target: new Part(within) } as never;
  expect(wouldLeavePage(event)).toBe(leaves);
});

test("what another part of the page takes is left to it", () => {
  const event = { defaultPrevented: true, dataTransfer: { types: ["text/uri-list"] }, target: null } as never;
  expect(wouldLeavePage(event)).toBe(false);
});

interface Paste {
  readonly name: string;
  readonly text: string;
  readonly within: string;
  readonly html?: string;
}

test.each<[string, Paste, boolean]>([
  ["a picture alone", { name: "image.png", text: "", within: "textarea" }, true],
  [
    "cells of a table, with a picture of them",
    { name: "image.png", text: "1\t2\n3\t4", within: "textarea" },
    false,
  ],
  ["a word of a document", { name: "image.png", text: "hat", within: "input" }, false],
  ["the same where nobody writes", { name: "image.png", text: "1\t2", within: "main" }, true],
  ["a file with its name", { name: "my hat.png", text: "my hat.png", within: "textarea" }, true],
  [
    "a file with its place",
    { name: "my hat.png", text: "file:///home/ada/my%20hat.png\r\n", within: "textarea" },
    true,
  ],
  ["a file of Windows", { name: "hat.png", text: "C:\\pictures\\hat.png", within: "textarea" }, true],
  [
    "a file with signs",
    { name: "a&b, c=d@2x+.png", text: "file:///a&b,%20c=d@2x+.png", within: "input" },
    true,
  ],
  ["a file with a percent", { name: "50%.png", text: "50%.png", within: "input" }, true],
  ["another one", { name: "hat.png", text: "50%.png", within: "input" }, false],
  [
    "a file of GNOME",
    { name: "hat.png", text: "x-special/nautilus-clipboard\ncopy\nfile:///hat.png\n", within: "input" },
    true,
  ],
  ["a file of macOS", { name: "hat.png", text: "hat.png\rhat.png", within: "input" }, true],
  ["that heading's word", { name: "image.png", text: "copy", within: "textarea" }, false],
  ["a picture of Safari", { name: "image.png", text: "https://a.org/hat.png?w=1", within: "textarea" }, true],
  [
    "the same with its HTML",
    { name: "i.tiff", text: "https://a.org/b", within: "input", html: '<meta><img src="https://a.org/b">' },
    true,
  ],
  [
    "a cell with an address",
    {
      name: "image.png",
      text: "https://a.org/b",
      within: "input",
      html: "<table><td>https://a.org/b</table>",
    },
    false,
  ],
  [
    "words with an address",
    { name: "image.png", text: "see https://a.org/b.png", within: "textarea" },
    false,
  ],
])("%s that is pasted, %o, brings the file: %s", (_what, { name, text, within, html = "" }, brings) => {
  const getData = (type: string) => (type === "text/html" ? html : text);
  const clipboardData = { files: [{ name }], items: [], getData };
  // Safe cast: only these are read of a transfer, and only `closest` of a target.
  expect(pastedFiles({ clipboardData, target: new Part(within) } as never)).toHaveLength(brings ? 1 : 0);
});
