import type { FileChooser, Locator } from "@playwright/test";
import { expect } from "../test.ts";

/** So long a press may take to open the dialog. */
const opensMs = 5_000;

/**
 * Presses a button that opens the system's file dialog, and chooses there. A press in the first moments of a page, before its
 * scripts run, does nothing, as for a user, who presses again.
 */
export async function chooseFiles(
  button: Locator,
  files: Parameters<FileChooser["setFiles"]>[0],
): Promise<void> {
  let dialog: FileChooser | undefined;
  await expect(async () => {
    const opened = button.page().waitForEvent("filechooser", { timeout: opensMs });
    // A press that fails is told, not that no dialog came of it.
    opened.catch(() => undefined);
    await button.click();
    dialog = await opened;
  }).toPass();
  await dialog?.setFiles(files);
}
