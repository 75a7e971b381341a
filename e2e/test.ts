import { expect, test as base } from "@playwright/test";

interface Watch {
  /** Console errors that a journey provokes on purpose, such as the browser's note about a refused upload. */
  readonly expectedErrors: RegExp[];
  readonly quietConsole: void;
}

/** A test that fails when a page logs an error, throws, or runs into its content security policy. */
export const test = base.extend<Watch>({
  expectedErrors: [[], { option: true }],
  quietConsole: [
    async ({ context, expectedErrors }, use) => {
      const errors: string[] = [];
      context.on("console", (message) => {
        if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (thrown) => errors.push(thrown.error().message));
      await use();
      const unexpected = errors.filter((text) => !expectedErrors.some((pattern) => pattern.test(text)));
      expect(unexpected, "errors on the console").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
