/** Has the browser save a file. The page stays, also where the file cannot be had: the browser says so beside it. */
export function saveFile(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
