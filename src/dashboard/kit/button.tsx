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

/** A link to a file that the gateway makes. */
export function DownloadLink({ href, label = "CSV", look }: { href: string; label?: string; look?: string }) {
  return (
    <a className={toButtonClass(look)} href={href} download>
      <Icon name="download" size={15} />
      {label}
    </a>
  );
}

function toButtonClass(look = ""): string {
  return ["btn", ...look.split(" ").flatMap((word) => (word === "" ? [] : `btn-${word}`))].join(" ");
}
