/* The scripts that work on a workspace, for /bin/sh: the files of site, which tell what they do and want. */
#ifndef RF_SERVER_SITE_SCRIPT_H
#define RF_SERVER_SITE_SCRIPT_H

extern const char rf_site_script_make[], rf_site_script_list[], rf_site_script_undo[],
	rf_site_script_diff[], rf_site_script_fork[], rf_site_script_send[], rf_site_script_apply[],
	rf_site_script_forget[];

#endif
