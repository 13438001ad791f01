// SPDX-License-Identifier: Apache-2.0
// The defaults of the C interface's structs, taken from those of the C++ interface.
#pragma once

#include "longhaul/longhaul_types.h"

namespace longhaul::api::c {

longhaul_endpoint_config default_config();
longhaul_faults default_faults() noexcept;
longhaul_send_options default_send_options() noexcept;

/// Of both kinds of tensor.
template <typename Tensor>
Tensor default_tensor() noexcept {
  Tensor tensor{};
  tensor.dtype = LONGHAUL_U8;
  return tensor;
}

}  // namespace longhaul::api::c
