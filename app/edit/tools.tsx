"use client";
import { Brush, Eraser, Hand, type LucideIcon, MousePointerClick, Redo2, Undo2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button, IconButton, Kbd } from "../ui/button.tsx";
import { Slider } from "../ui/fields.tsx";
import { brushLimits, type EditorSession, type Tool } from "./session.ts";

export function BrushOptions({ session }: { readonly session: EditorSession }) {
  const t = useTranslations("edit");
  const { brush, setSize, history, step } = session;
  return (
    <section aria-labelledby="brush-options" className="flex flex-col gap-1">
      <div className="flex items-center justify-between">
        <h2 id="brush-options" className="text-xs font-medium">
          {t("brushSize")}
        </h2>
        <span className="tabular flex items-center gap-2 text-xs text-quiet">
          <span className="hidden sm:pointer-fine:inline">
            <Kbd keys="[ ]" />
          </span>
          {`${brush.sizePx} px`}
        </span>
      </div>
      <Slider label={t("brushSize")} value={brush.sizePx} {...brushLimits} onChange={setSize} />
      <Button
        look="quiet"
        size="small"
        className="-ml-2.5 self-start"
        disabled={history.marks.length === 0}
        onClick={() => step({ type: "clear" })}
      >
        {t("clearMask")}
      </Button>
    </section>
  );
}

const tools: readonly { readonly tool: Tool; readonly keys: string; readonly icon: LucideIcon }[] = [
  { tool: "pan", keys: "v", icon: Hand },
  { tool: "brush", keys: "b", icon: Brush },
  { tool: "eraser", keys: "e", icon: Eraser },
  { tool: "select", keys: "s", icon: MousePointerClick },
];

interface ToolColumnProps {
  readonly session: EditorSession;
  /** Whether a server can select by clicks. */
  readonly canSelect?: boolean;
}

export function ToolColumn({ session, canSelect = false }: ToolColumnProps) {
  const t = useTranslations("edit");
  const { brush, setTool, history, step } = session;
  const offered = tools.filter(({ tool }) => tool !== "select" || canSelect);
  return (
    <div
      role="toolbar"
      aria-label={t("tools")}
      aria-orientation="vertical"
      className="flex shrink-0 items-center gap-1 border-line p-2 max-wide:justify-center max-wide:border-t wide:w-[53px] wide:flex-col wide:border-r wide:pt-3"
    >
      {offered.map(({ tool, keys, icon: Icon }) => (
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
        disabled={history.marks.length === 0}
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
