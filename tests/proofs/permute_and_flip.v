(* Theorem permute and flip of models/mathematics.md: class j with a_j times the integral over t in [0, 1] of the product
   of 1 - a_i t over the other classes i. And that
   this is the law of "in random order, the first accepted". *)
From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
Import ListNotations.
Open Scope R_scope.

(* the classes other than j; their chances of being accepted *)
Fixpoint product (l : list R) (t : R) : R := match l with [] => 1 | a :: l => (1 - a * t) * product l t end.
Definition chance (own : R) (l : list R) : R := own * RInt (product l) 0 1.

Lemma product_continuous l t : continuous (product l) t.
Proof.
  induction l as [|a l IH]; [apply (continuous_const (V := R_NormedModule))|].
  apply (continuous_mult (fun t => 1 - a * t) (product l)); [|exact IH].
  apply (continuous_minus (V := R_NormedModule) (fun _ => 1) (fun t => a * t)); [apply (continuous_const (V := R_UniformSpace))|].
  apply (continuous_scal_r (V := R_NormedModule) a (fun t => t)). apply continuous_id.
Qed.
Lemma integrable l a b : ex_RInt (product l) a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply product_continuous. Qed.
Definition accepts (l : list R) := List.Forall (fun a => 0 <= a <= 1) l.
Lemma product_pos l t : accepts l -> 0 <= t <= 1 -> 0 <= product l t.
Proof. intros H Ht. induction H; simpl; [lra|]. apply Rmult_le_pos; nra. Qed.

(* Less accepted, scaled by r >= 1: the product is no less. *)
Lemma product_scaled r l l' s : 1 <= r -> accepts l -> accepts l' -> Forall2 (fun a a' => a' <= r * a) l l' -> 0 <= s <= 1 ->
  product l s <= product l' (/ r * s).
Proof.
  intros Hr A A' F Hs.
  assert (0 < / r <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  induction F as [|a a' l l' Q F IH]; simpl; [lra|]. inversion_clear A as [|? ? A1 A2]; inversion_clear A' as [|? ? A1' A2'].
  apply Rmult_le_compat; [nra|apply product_pos; assumption| |apply IH; assumption].
  assert (a' * / r <= a); [|nra]. apply Rle_trans with (r * a * / r); [apply Rmult_le_compat_r; lra|right; field; lra].
Qed.

Theorem permute_and_flip : forall r own own' l l', 1 <= r -> accepts (own :: l) -> accepts (own' :: l') ->
  own <= r * own' -> Forall2 (fun a a' => a' <= r * a) l l' -> chance own l <= r * r * chance own' l'.
Proof.
  intros r own own' l l' Hr A A' H F. inversion A as [|? ? (O0 & O1) Al]; inversion A' as [|? ? (O0' & O1') Al']; subst.
  assert (Hi : 0 < / r <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  assert (I0 : 0 <= RInt (product l) 0 1) by (apply RInt_ge_0; [lra|apply integrable|intros; apply product_pos; [assumption|lra]]).
  assert (I : RInt (product l) 0 1 <= r * RInt (product l') 0 1).
  { apply Rle_trans with (r * RInt (product l') 0 (/ r)).
    - assert (S : RInt (fun s => / r * product l' (/ r * s + 0)) 0 1 = RInt (product l') 0 (/ r)).
      { pose proof (RInt_comp_lin (V := R_CompleteNormedModule) (product l') (/ r) 0 0 1) as C. unfold scal in C; simpl in C; unfold mult in C; simpl in C.
        rewrite C by apply integrable. f_equal; ring. }
      rewrite <- S. apply Rle_trans with (r * RInt (fun s => / r * product l s) 0 1).
      + pose proof (RInt_scal (V := R_CompleteNormedModule) (product l) 0 1 (/ r) (integrable l 0 1)) as C.
        unfold scal in C; simpl in C; unfold mult in C; simpl in C. rewrite C.
        assert (U : forall x : R, x = r * (/ r * x)) by (intros; field; lra). right. apply U.
      + apply Rmult_le_compat_l; [lra|]. apply RInt_le; [lra| | |].
        * apply (ex_RInt_scal (V := R_NormedModule) (product l) 0 1 (/ r)). apply integrable.
        * apply (ex_RInt_comp_lin (V := R_NormedModule) (product l') (/ r) 0 0 1). apply integrable.
        * intros s Hs. apply Rmult_le_compat_l; [lra|]. rewrite Rplus_0_r. apply product_scaled; try assumption; lra.
    - apply Rmult_le_compat_l; [lra|]. rewrite <- (RInt_Chasles (product l') 0 (/ r) 1) by apply integrable. unfold plus; simpl.
      assert (0 <= RInt (product l') (/ r) 1); [|lra].
      apply RInt_ge_0; [lra|apply integrable|intros; apply product_pos; [assumption|lra]]. }
  unfold chance. replace (r * r * (own' * RInt (product l') 0 1)) with ((r * own') * (r * RInt (product l') 0 1)) by ring.
  apply Rmult_le_compat; lra.
Qed.

(* ---- The formula is the law: of the classes left the next is any of them, alike; accepted it wins, refused it is out. ---- *)
(* the sum over the classes of l, each with those that stay *)
Fixpoint sum_out (l : list R) (g : R -> list R -> R) : R := match l with [] => 0 | a :: l => g a l + sum_out l (fun b rest => g b (a :: rest)) end.
Fixpoint drawn (n : nat) (own : R) (l : list R) : R :=
  match n with O => own | S n => (own + sum_out l (fun a rest => (1 - a) * drawn n own rest)) / INR (S (S n)) end.
Lemma sum_out_ext l : forall g h, (forall a rest, S (length rest) = length l -> g a rest = h a rest) -> sum_out l g = sum_out l h.
Proof. induction l as [|a l IH]; intros g h H; cbn [sum_out]; [reflexivity|]. rewrite (H a l eq_refl). f_equal. apply IH. intros b rest E. apply H. cbn. lia. Qed.
Lemma sum_out_scale l c : forall g, sum_out l (fun a rest => c * g a rest) = c * sum_out l g.
Proof. induction l as [|a l IH]; intros g; cbn [sum_out]; [ring|]. rewrite (IH (fun b rest => g b (a :: rest))). ring. Qed.
Lemma sum_out_minus l : forall g h, sum_out l (fun a rest => g a rest - h a rest) = sum_out l g - sum_out l h.
Proof. induction l as [|a l IH]; intros g h; cbn [sum_out]; [ring|]. rewrite (IH (fun b rest => g b (a :: rest)) (fun b rest => h b (a :: rest))). ring. Qed.
Lemma each_back l t : sum_out l (fun a rest => (1 - a * t) * product rest t) = INR (length l) * product l t.
Proof.
  induction l as [|a l IH]; cbn [sum_out length product]; [simpl; ring|].
  rewrite (sum_out_ext l _ (fun b rest => (1 - a * t) * ((1 - b * t) * product rest t))) by (intros; cbn [product]; ring). rewrite sum_out_scale, IH, S_INR. ring.
Qed.
Lemma product_derive l t : is_derive (product l) t (sum_out l (fun a rest => - a * product rest t)).
Proof.
  induction l as [|a l IH]; cbn [sum_out]; [apply (is_derive_const (V := R_NormedModule) 1 t)|].
  rewrite (sum_out_ext l _ (fun b rest => (1 - a * t) * (- b * product rest t))) by (intros; cbn [product]; ring). rewrite sum_out_scale.
  apply (is_derive_ext (fun t => (1 - a * t) * product l t)); [reflexivity|].
  assert (D : is_derive (fun t => 1 - a * t) t (- a)) by (auto_derive; [exact I|ring]).
  apply (is_derive_mult (fun t => 1 - a * t) (product l) t (- a) _ D IH). intros; apply Rmult_comm.
Qed.
Lemma sum_out_continuous l t : forall g : R -> list R -> R -> R, (forall a rest, continuous (g a rest) t) -> continuous (fun t => sum_out l (fun a rest => g a rest t)) t.
Proof.
  induction l as [|a l IH]; intros g H; cbn [sum_out]; [apply (continuous_const (V := R_UniformSpace))|].
  apply (continuous_plus (V := R_NormedModule) (g a l)); [apply H|]. apply (IH (fun b rest => g b (a :: rest))). intros; apply H.
Qed.
Lemma sum_out_integral l : forall g : R -> list R -> R -> R, (forall a rest, ex_RInt (g a rest) 0 1) ->
  is_RInt (fun t => sum_out l (fun a rest => g a rest t)) 0 1 (sum_out l (fun a rest => RInt (g a rest) 0 1)).
Proof.
  induction l as [|a l IH]; intros g H; cbn [sum_out].
  - pose proof (is_RInt_const (V := R_NormedModule) 0 1 0) as Z0. unfold scal in Z0. simpl in Z0. unfold mult in Z0. simpl in Z0. rewrite Rmult_0_r in Z0. exact Z0.
  - apply (is_RInt_plus (V := R_NormedModule) (g a l)); [apply (RInt_correct (V := R_CompleteNormedModule)); apply H|]. apply (IH (fun b rest => g b (a :: rest))). intros; apply H.
Qed.
Lemma integral_recursion l : INR (S (length l)) * RInt (product l) 0 1 = 1 + sum_out l (fun a rest => (1 - a) * RInt (product rest) 0 1).
Proof.
  set (g := fun t => INR (S (length l)) * product l t - sum_out l (fun a rest => (1 - a) * product rest t)).
  assert (C : forall t, continuous g t).
  { intros t. apply (continuous_minus (V := R_NormedModule) (fun t => INR (S (length l)) * product l t)).
    - apply (continuous_scal_r (V := R_NormedModule) (INR (S (length l))) (product l)). apply product_continuous.
    - apply (sum_out_continuous l t (fun a rest t => (1 - a) * product rest t)). intros. apply (continuous_scal_r (V := R_NormedModule) (1 - a) (product rest)). apply product_continuous. }
  assert (D : forall t, is_derive (fun t => (t - 1) * product l t) t (g t)).
  { intros t. assert (E : is_derive (fun t : R => t - 1) t 1) by (auto_derive; [exact I|ring]).
    pose proof (is_derive_mult (fun t => t - 1) (product l) t 1 _ E (product_derive l t) Rmult_comm) as M.
    replace (g t) with (plus (mult 1 (product l t)) (mult (t - 1) (sum_out l (fun a rest => - a * product rest t)))); [exact M|].
    unfold g, plus, mult. simpl. change (match length l with O => 1 | S _ => INR (length l) + 1 end) with (INR (S (length l))). rewrite S_INR. pose proof (each_back l t) as B.
    rewrite <- sum_out_scale.
    rewrite (sum_out_ext l _ (fun a rest => (1 - a * t) * product rest t - (1 - a) * product rest t)) by (intros; ring). rewrite sum_out_minus, B. ring. }
  pose proof (is_RInt_derive (V := R_CompleteNormedModule) (fun t => (t - 1) * product l t) g 0 1 ltac:(intros; apply D) ltac:(intros; apply C)) as F.
  assert (P0 : product l 0 = 1) by (clear; induction l as [|a l IH]; cbn [product]; [|rewrite IH]; ring).
  assert (J : is_RInt g 0 1 (INR (S (length l)) * RInt (product l) 0 1 - sum_out l (fun a rest => (1 - a) * RInt (product rest) 0 1))).
  { apply (is_RInt_minus (V := R_NormedModule) (fun t => INR (S (length l)) * product l t)).
    - apply (is_RInt_scal (V := R_NormedModule) (product l)). apply (RInt_correct (V := R_CompleteNormedModule)). apply integrable.
    - rewrite (sum_out_ext l _ (fun a rest => RInt (fun t => (1 - a) * product rest t) 0 1)).
      + apply (sum_out_integral l (fun a rest t => (1 - a) * product rest t)). intros. apply (ex_RInt_scal (V := R_NormedModule) (product rest)). apply integrable.
      + intros a rest _. symmetry. apply (RInt_scal (V := R_CompleteNormedModule) (product rest) 0 1 (1 - a)). apply integrable. }
  apply (is_RInt_unique (V := R_CompleteNormedModule)) in F, J. rewrite F in J. unfold minus, plus, opp in J. simpl in J. rewrite P0 in J.
  change (match length l with O => 1 | S _ => INR (length l) + 1 end) with (INR (S (length l))) in J. lra.
Qed.
Theorem formula_is_the_law : forall n own l, length l = n -> drawn n own l = chance own l.
Proof.
  induction n as [|n IH]; intros own l H.
  - destruct l; [|discriminate]. cbn [drawn]. unfold chance. rewrite (RInt_ext _ (fun _ => 1)) by reflexivity. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
  - cbn [drawn]. rewrite (sum_out_ext l _ (fun a rest => own * ((1 - a) * RInt (product rest) 0 1))).
    + rewrite sum_out_scale. unfold chance. pose proof (integral_recursion l) as Rec. rewrite H in Rec.
      assert (Pos : 0 < INR (S (S n))) by (apply lt_0_INR; lia).
      apply Rmult_eq_reg_r with (INR (S (S n))); [|lra]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      replace (own * RInt (product l) 0 1 * INR (S (S n))) with (own * (INR (S (S n)) * RInt (product l) 0 1)) by ring. rewrite Rec. ring.
    + intros a rest E. rewrite IH by lia. unfold chance. ring.
Qed.

(* ---- An example, and a wrong statement refuted ---- *)
Example permute_and_flip_example : chance 1 [/ 2; / 2] <= 2 * 2 * chance (/ 2) [1; / 4].
Proof.
  apply (permute_and_flip 2 1 (/ 2) [/ 2; / 2] [1; / 4]); [lra|repeat constructor; lra|repeat constructor; lra|lra|repeat constructor; lra].
Qed.
Lemma constant a : chance a [] = a.
Proof. unfold chance. rewrite (RInt_ext _ (fun _ => 1)) by reflexivity. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. lra. Qed.
(* The own chance counts: it falls by r, and r^2 is asked for it too where the others are forgotten. *)
Fact permute_and_flip_mutant : ~ (forall r own own' l l', 1 <= r -> accepts (own :: l) -> accepts (own' :: l') ->
  own <= r * r * own' -> Forall2 (fun a a' => a' <= r * a) l l' -> chance own l <= r * chance own' l').
Proof.
  intros H. specialize (H 2 1 (/ 4) [] []). rewrite !constant in H.
  assert (1 <= 2 * / 4); [|lra]. apply H; try lra; repeat constructor; lra.
Qed.
Example formula_is_the_law_example : chance (/ 2) [1; / 4] = (/ 2 + (0 * ((/ 2 + (1 - / 4) * / 2) / 2) + (1 - / 4) * ((/ 2 + 0 * / 2) / 2))) / 3.
Proof. rewrite <- (formula_is_the_law 2) by reflexivity. simpl. field. Qed.
(* The product of what the others refuse, as if all came before. *)
Fact formula_is_the_law_mutant : drawn 1 1 [1] <> 1 * product [1] 1.
Proof. simpl. lra. Qed.
