/** Picture files from a drop or the clipboard; a screenshot on the clipboard has no name of its own. */
export function filesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

export function carriesFiles(data: DataTransfer | null): boolean {
  return data?.types.includes("Files") ?? false;
}
