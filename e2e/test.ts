import { type ConsoleMessage, expect, test as base } from "@playwright/test";

interface Watch {
  /** The console error that a journey provokes on purpose, such as the browser's note about a refused upload. */
  readonly expectedError: RegExp | null;
  readonly quietConsole: void;
}

export interface Surroundings {
  /** Where the worker looks for a ComfyUI server; nothing listens there unless a journey starts the simulator. */
  readonly comfyPort: number;
  /** Where the worker looks for a language model; the same holds. */
  readonly llmPort: number;
  /** Of the first simulated provider; each next one has the next port. */
  readonly providersPort: number;
  /** The environment of the studio, for a journey that starts another one. */
  readonly serverEnv: Readonly<Record<string, string>>;
}

/** The trace recorder asks for the bytes of pictures in memory; the policy refuses it, and names no place in a page. */
function isOfRecorder(message: ConsoleMessage): boolean {
  return message.text().startsWith("Connecting to 'blob:") && message.location().url === "";
}

/** A test that fails when a page logs an error, throws, or runs into its content security policy. */
export const test = base.extend<Watch, Surroundings>({
  expectedError: [null, { option: true }],
  comfyPort: [0, { option: true, scope: "worker" }],
  llmPort: [0, { option: true, scope: "worker" }],
  providersPort: [0, { option: true, scope: "worker" }],
  serverEnv: [{}, { option: true, scope: "worker" }],
  quietConsole: [
    async ({ context, expectedError }, use) => {
      const errors: string[] = [];
      context.on("console", (message) => {
        if (message.type() !== "error" || isOfRecorder(message)) return;
        errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (thrown) => errors.push(thrown.error().message));
      await use();
      const unexpected = errors.filter((text) => expectedError?.test(text) !== true);
      expect(unexpected, "errors on the console").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
