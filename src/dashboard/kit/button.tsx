import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> {
  /** The variants, such as `primary` or `plain small`. */
  look?: string;
  icon?: IconName;
  iconSize?: number;
}

export function Button({ look, icon, iconSize = 15, children, ...props }: ButtonProps) {
  return (
    <button type="button" {...props} className={toButtonClass(look)}>
      {icon !== undefined && <Icon name={icon} size={iconSize} />}
      {children}
    </button>
  );
}

/** A button that looks like a link. */
export function LinkButton({ look = "link", ...props }: ButtonProps) {
  return <button type="button" {...props} className={look} />;
}

function toButtonClass(look = ""): string {
  return ["btn", ...look.split(" ").flatMap((word) => (word === "" ? [] : `btn-${word}`))].join(" ");
}
