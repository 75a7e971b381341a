/** Every shortcut, for the dialog and the settings page. `keys` in the notation of `aria-keyshortcuts`. */
export const shortcutGroups = [
  {
    key: "everywhere",
    items: [
      { key: "help", keys: "?" },
      { key: "search", keys: "/" },
      { key: "goStudio", keys: "g s" },
      { key: "goCreate", keys: "g c" },
      { key: "goGallery", keys: "g g" },
      { key: "goJobs", keys: "g j" },
      { key: "goSettings", keys: "g e" },
      { key: "goAdmin", keys: "g a" },
      { key: "close", keys: "Escape" },
    ],
  },
  {
    key: "studio",
    items: [
      { key: "run", keys: "Control+Enter" },
      { key: "original", keys: "Space" },
    ],
  },
  {
    key: "gallery",
    items: [
      { key: "move", keys: "ArrowLeft ArrowRight" },
      { key: "select", keys: "x" },
      { key: "selectAll", keys: "Control+A" },
      { key: "star", keys: "s" },
      { key: "remove", keys: "Delete" },
    ],
  },
  {
    key: "edit",
    items: [
      { key: "pan", keys: "v" },
      { key: "brush", keys: "b" },
      { key: "eraser", keys: "e" },
      { key: "size", keys: "[ ]" },
      { key: "zoom", keys: "+ - 0" },
      { key: "undo", keys: "Control+Z" },
      { key: "redo", keys: "Shift+Control+Z" },
      { key: "paint", keys: "Enter" },
    ],
  },
] as const;
