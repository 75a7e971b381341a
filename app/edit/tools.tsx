"use client";
import { Brush, Eraser, Hand, type LucideIcon, Redo2, Undo2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../ui/icon-button.tsx";
import type { EditorSession, Tool } from "./use-editor.ts";

const tools: readonly { readonly tool: Tool; readonly keys: string; readonly icon: LucideIcon }[] = [
  { tool: "pan", keys: "v", icon: Hand },
  { tool: "brush", keys: "b", icon: Brush },
  { tool: "eraser", keys: "e", icon: Eraser },
];

export function ToolColumn({ session }: { readonly session: EditorSession }) {
  const t = useTranslations("edit");
  const { brush, setTool, history, step } = session;
  return (
    <div
      role="toolbar"
      aria-label={t("tools")}
      aria-orientation="vertical"
      className="flex shrink-0 items-center gap-1 border-line p-2 max-wide:justify-center max-wide:border-t wide:w-[53px] wide:flex-col wide:border-r wide:pt-3"
    >
      {tools.map(({ tool, keys, icon: Icon }) => (
        <IconButton
          key={tool}
          label={t(`toolNames.${tool}`)}
          keys={keys}
          side="right"
          pressed={brush.tool === tool}
          onClick={() => setTool(tool)}
        >
          <Icon aria-hidden />
        </IconButton>
      ))}
      <span
        aria-hidden
        className="bg-line max-wide:mx-1 max-wide:h-5 max-wide:w-px wide:my-1 wide:h-px wide:w-5"
      />
      <IconButton
        label={t("undo")}
        keys="Control+Z"
        side="right"
        disabled={history.strokes.length === 0}
        onClick={() => step({ type: "undo" })}
      >
        <Undo2 aria-hidden />
      </IconButton>
      <IconButton
        label={t("redo")}
        keys="Shift+Control+Z"
        side="right"
        disabled={history.undone.length === 0}
        onClick={() => step({ type: "redo" })}
      >
        <Redo2 aria-hidden />
      </IconButton>
    </div>
  );
}
