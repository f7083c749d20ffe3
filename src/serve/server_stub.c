// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces the server in a build without libmicrohttpd. */
#include "base/error.h"
#include "serve/server.h"

tide_code tide__server_start(const tide_server_options *opt, tide_server **out, tide_error *err)
{
	*out = NULL;
	return tide__fail(
		err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
		"this build has no server: libmicrohttpd was not found when it was built");
}

char *tide__server_url(const tide_server *s, char *buf, size_t n)
{
	if (n)
		*buf = 0;
	return buf;
}

bool tide__server_stop(tide_server *s)
{
	return true;
}
