/*
 * Takes overlayfs's own notes off a tree that a box filled on a plain file system.
 *
 * Through overlayfs a box can't set them.  In a copy it can, and a layer that is made of the copy would say what the box likes: that
 * a file is none, that a folder hides what lies beneath it, that its content is elsewhere.
 */
#ifndef RF_WORKSPACE_SCRUB_H
#define RF_WORKSPACE_SCRUB_H

/*
 * Does so for `name` in the folder `dir`, and for all that is in it, however deep and whatever it denies its owner; modes are
 * afterwards what they were.  Nobody else may be at work there.  Returns 0 or a negative errno.
 */
int rf_scrub(int dir, const char *name);

#endif
