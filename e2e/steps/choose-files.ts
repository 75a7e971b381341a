import type { FileChooser, Locator } from "@playwright/test";

/** Presses a button that opens the system's file dialog, and chooses there. */
export async function chooseFiles(
  button: Locator,
  files: Parameters<FileChooser["setFiles"]>[0],
): Promise<void> {
  const opened = button.page().waitForEvent("filechooser");
  await button.click();
  await (await opened).setFiles(files);
}
