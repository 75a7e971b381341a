/**
 * Presets: words and settings that are kept under a name, and the language in which a prompt uses them.
 *
 * Terms. List: words, one a line, of which `__name__` in a prompt draws one. Style: parts of prompts that are put around what
 * was written. Favourite: the settings of a form. Template: a prompt with choices `{a|b}` and lists, before one text is drawn
 * from it. Each is a user's own, the studio's (admins change those) or shipped with the product; of one name one's own counts first.
 *
 *     live ──removePreset──▶ removed ──undoDeleteMs──▶ gone
 *       ◀──restorePreset──────┘
 *
 * Rules. A job keeps the drawn text as its prompt, and the template with the styles as they were then: a change of a preset
 * changes no job. Nothing here knows of jobs.
 */
export {
  composePrompts,
  type KnownLists,
  mostStyles,
  previewPrompts,
  previewSchema,
  templateSchema,
} from "./compose.ts";
export { listsIn, parseTemplate } from "./language.ts";
export {
  listPresets,
  type PresetView,
  purgePresets,
  removePreset,
  restorePreset,
  savePreset,
  savePresetSchema,
} from "./presets.ts";
