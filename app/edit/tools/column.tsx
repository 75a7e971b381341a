"use client";
import { Redo2, Undo2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/button.tsx";
import type { EditorSession } from "../session.ts";
import { type CommandId, keysOf } from "./commands.ts";
import { useOwnKeys } from "./own-keys.ts";
import { tools } from "./registry.ts";
import type { Selections } from "./select.tsx";

interface ToolColumnProps {
  readonly session: EditorSession;
  readonly selection?: Selections | null;
}

/** Whether the tool that selects has something to do. */
const canSelect = ({ can }: Selections) => can("clicks") || can("box") || can("prompt");

export function ToolColumn({ session, selection = null }: ToolColumnProps) {
  const t = useTranslations("edit");
  const own = useOwnKeys();
  const { tool: chosen, setTool, history, step } = session;
  const firstKey = (id: CommandId) => keysOf(id, own)[0];
  const offered = tools.filter(({ id }) => id !== "select" || (selection !== null && canSelect(selection)));
  const steps = [
    { id: "undo", icon: Undo2, isOff: history.marks.length === 0 },
    { id: "redo", icon: Redo2, isOff: history.undone.length === 0 },
  ] as const;
  return (
    <div
      role="toolbar"
      aria-label={t("tools")}
      aria-orientation="vertical"
      className="flex shrink-0 items-center gap-1 border-line p-2 max-wide:justify-center max-wide:border-t max-sm:gap-0 wide:w-[53px] wide:flex-col wide:border-e wide:pt-3"
    >
      {offered.map(({ id, command, icon: Icon }) => (
        <IconButton
          key={id}
          label={t(`toolNames.${id}`)}
          keys={firstKey(command)}
          side="right"
          pressed={chosen === id}
          onClick={() => setTool(id)}
        >
          <Icon aria-hidden />
        </IconButton>
      ))}
      <span
        aria-hidden
        className="bg-line max-wide:mx-1 max-wide:h-5 max-wide:w-px wide:my-1 wide:h-px wide:w-5"
      />
      {steps.map(({ id, icon: Icon, isOff }) => (
        <IconButton
          key={id}
          label={t(id)}
          keys={firstKey(id)}
          side="right"
          disabled={isOff}
          onClick={() => step({ type: id })}
        >
          <Icon aria-hidden />
        </IconButton>
      ))}
    </div>
  );
}
